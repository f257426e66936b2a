package untrusted_test

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

func TestOnlyALowerRevisionIsARestore(t *testing.T) {
	for _, test := range []struct {
		story    string
		seen     []string
		read     string
		wentBack bool
	}{
		{"the first look", nil, "5", false},
		{"nothing was written", []string{"5"}, "5", false},
		{"something was written", []string{"9"}, "10", false},
		{"the storage went back", []string{"5", "10"}, "9", true},
		{"it went back and is known to have", []string{"10", "5"}, "6", false},
		{"a number that is no number of a storage", []string{"10"}, "0", false},
		{"a word", []string{"10"}, "abc", false},
		{"nothing", []string{"10"}, "", false},
		{"more digits than a version has", []string{"10", strings.Repeat("9", untrusted.MaxResourceVersion+1)}, "11", false},
		{"as many digits as a version may have", []string{"10", strings.Repeat("9", untrusted.MaxResourceVersion)}, "11", true},
		{"a word between", []string{"10", "abc"}, "9", true},
	} {
		var mark untrusted.RevisionMark
		for _, seen := range test.seen {
			mark.See(seen)
		}
		if got := mark.WentBack(test.read); got != test.wentBack {
			t.Errorf("%s: %q after %q: went back is %v", test.story, test.read, mark.Seen(), got)
		}
	}
}
