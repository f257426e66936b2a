package webhook

import (
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Kubernetes shortens or drops longer warnings, and drops all if together they exceed 4,096 characters.
const (
	maxWarning  = 256
	maxWarnings = 12
)

// warnings collects sentences for the sender of the object.
type warnings struct {
	list []string
	seen map[string]bool
}

// add appends a warning once, and shortens it if it is too long. The text can contain names of vCenter objects, and is sent in an HTTP header.
func (w *warnings) add(text string) {
	text = strings.TrimSpace(untrusted.Text(text, maxWarning))
	if text == "" || w.seen[text] {
		return
	}
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	w.seen[text] = true
	w.list = append(w.list, text)
}

func (w *warnings) result() admission.Warnings {
	if len(w.list) <= maxWarnings {
		return w.list
	}
	return append(w.list[:maxWarnings:maxWarnings], "and more; the first of them are shown")
}
