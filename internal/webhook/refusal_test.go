package webhook

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// hidden is text that breaks lines, controls a terminal, turns the direction of writing, and is invisible.
const hidden = "line\r\nbreak \xff\x1b[2J\u202eexe\u200b"

// shown reports whether all of a text is visible, and in one line.
func shown(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Bidi_Control) }) < 0
}

func TestARefusalCanBeShownByATerminal(t *testing.T) {
	w := knowledgeWith()
	w.quota = func(_, _ *v1alpha1.VmGroup) []policy.Violation {
		return []policy.Violation{{Field: "spec.template", Value: hidden, Detail: "is not " + hidden, Enforced: true}}
	}
	got := serve(t, w, nil).validate(requestFor(t, nil, aGroup()))
	if got.Allowed || !shown(got.Result.Message) || !strings.Contains(got.Result.Message, "is not line break �[2J�exe�") {
		t.Errorf("allowed %v: %q", got.Allowed, got.Result.Message)
	}
	for _, cause := range got.Result.Details.Causes {
		if !shown(cause.Message) {
			t.Errorf("cause %q", cause.Message)
		}
	}
}
