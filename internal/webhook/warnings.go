package webhook

import (
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Kubernetes shortens or drops warnings that are longer, and drops all when together they have more than 4,096 characters.
const (
	maxWarning  = 256
	maxWarnings = 12
)

// warnings collects sentences for whoever sent the object.
type warnings struct {
	list []string
	seen map[string]bool
}

// add appends a warning. It is shortened where it is too long, and said only once. What it names may be of vCenter, and it stands in an HTTP header.
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

// result is what the API server may show.
func (w *warnings) result() admission.Warnings {
	if len(w.list) <= maxWarnings {
		return w.list
	}
	return append(w.list[:maxWarnings:maxWarnings], "and more; the first of them are shown")
}
