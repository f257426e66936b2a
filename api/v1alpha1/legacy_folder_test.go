package v1alpha1

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLegacyFoldersAreTheSameButForCaseAndDatacenter(t *testing.T) {
	letters := rapid.StringOfN(rapid.SampledFrom([]rune("aAkK\u212asSſσςΣıİß/")), 0, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := letters.Draw(t, "a"), letters.Draw(t, "b")
		want := strings.EqualFold(strings.Trim(a, "/"), strings.Trim(b, "/"))
		if got := SameLegacyFolder(a, b); got != want {
			t.Fatalf("%q and %q: %v, want %v", a, b, got, want)
		}
		if !SameLegacyFolder("/DC0/vm/"+a, strings.TrimPrefix(a, "/")) {
			t.Fatalf("%q is another one with its datacenter", a)
		}
	})
}
