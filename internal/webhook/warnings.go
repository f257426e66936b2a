package webhook

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
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

// add appends a warning. It is shortened where it is too long, and said only once.
func (w *warnings) add(text string) {
	text = shorten(printable(text), maxWarning)
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

// printable replaces what must not stand in an HTTP header.
func printable(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text))
}

// shorten cuts text after at most limit bytes, never within a character.
func shorten(text string, limit int) string {
	const ellipsis = "..."
	if len(text) <= limit {
		return text
	}
	cut := limit - len(ellipsis)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + ellipsis
}
