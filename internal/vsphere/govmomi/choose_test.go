package govmomi

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// A text is exactly the name of one template and the path of another. Templates whose names differ
// only in case do not displace these in the message.
func TestAnAmbiguousTextListsWhatItMeansToTheLetter(t *testing.T) {
	paths := []string{
		"/DC0/vm/A/Feature/debug", "/DC0/vm/B/Feature/debug", "/DC0/vm/C/Feature/debug", "/DC0/vm/D/Feature/debug", "/DC0/vm/E/Feature/debug",
		"/DC0/vm/feature/debug", "/DC0/vm/feature%2fdebug",
	}
	_, err := choose("template", "feature/debug", paths)
	if vsphere.KindOf(err) != vsphere.KindAmbiguous {
		t.Fatal(err)
	}
	for _, path := range paths[5:] {
		if !strings.Contains(err.Error(), path) {
			t.Errorf("%q does not list %s", err, path)
		}
	}
	if strings.Contains(err.Error(), paths[0]) {
		t.Errorf("%q lists what is not meant", err)
	}
}
