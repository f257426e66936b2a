package govmomi

import (
	"fmt"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Each deleted VM was remembered until the process ended, unless another object was outside of the root folder.
func TestALookUpIsForgottenAfterItsTime(t *testing.T) {
	var l looked
	now := time.Date(2026, 11, 29, 16, 0, 0, 0, time.UTC)
	ref := func(i int) vsphere.Ref { return vsphere.VMRef(fmt.Sprint("vm-", i)) }
	for i := range 10_000 {
		now = now.Add(100 * time.Millisecond)
		l.note(ref(i), now)
		if !l.lately(ref(i), now) || !l.lately(ref(i), now.Add(lookAgainAfter-1)) || l.lately(ref(i), now.Add(lookAgainAfter)) {
			t.Fatal("a look-up counts for another time than 30 seconds")
		}
		if most := 2 * int(lookAgainAfter/(100*time.Millisecond)); len(l.at) > most {
			t.Fatalf("%d of %d look-ups are remembered, at most %d can matter", len(l.at), i, most)
		}
	}
}
