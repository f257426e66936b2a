package group

import (
	"fmt"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestMetadataThatAGuestCannotReadBlocksClones(t *testing.T) {
	t.Parallel()
	entries := func(n int, value string) map[string]string {
		out := map[string]string{}
		for i := range n {
			out[fmt.Sprint("key-", i)] = value
		}
		return out
	}
	// One character of the schema can be six bytes in JSON, and each a different one.
	var wild strings.Builder
	for i := range 1024 {
		wild.WriteRune(rune(0x10000 + i*7919%0xfffff))
	}
	long := entries(32, "")
	for key := range long {
		long[key] = strings.Map(func(r rune) rune {
			return 0x10000 + (r*7+rune(len(long))*31+rune(key[len(key)-1])*1009+rune(key[len(key)-2])*9176)%0xfffff
		}, wild.String())
	}
	for _, c := range []struct {
		story string
		guest *v1alpha1.Guest
		large bool
	}{
		{"no guest", nil, false},
		{"a little", &v1alpha1.Guest{Metadata: entries(3, "a")}, false},
		{"as much as may be, of letters", &v1alpha1.Guest{Metadata: entries(32, strings.Repeat("a", 1024))}, false},
		{"as much as may be, that is compressed", &v1alpha1.Guest{Metadata: entries(32, strings.Repeat("<", 1024))}, false},
		{"as much as may be, that cannot be compressed", &v1alpha1.Guest{Metadata: long}, true},
	} {
		got := tooMuchMetadata(v1alpha1.VmGroupSpec{Guest: c.guest})
		switch {
		case (got != nil) != c.large:
			t.Errorf("%s: %+v", c.story, got)
		case got != nil && (got.Reason != v1alpha1.ReasonMetadataTooLarge || !got.Terminal || !strings.Contains(got.Message, "a guest can read 65536")):
			t.Errorf("%s: %+v", c.story, got)
		}
	}
}
