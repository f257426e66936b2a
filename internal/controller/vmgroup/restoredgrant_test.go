package vmgroup

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// A hub's backup grants quota to a group that has shrunk since; another group was granted that quota meanwhile. Record and
// ledger agree, and only status shows less.
func TestAnOldGrantOfAGroupThatShrankSinceIsNoGrant(t *testing.T) {
	h := newRestoredHub(t, quotaVMs(5), 4)
	h.backsUp()
	h.wants(1)
	if n := h.other("second", 4); n != 4 {
		t.Fatalf("the other group has %d VMs", n)
	}
	h.informOf("second")
	h.restore()
	h.edit(func(s *v1alpha1.VmGroupSpec) { s.Replicas = new(int32(4)) })
	for range 12 {
		h.mustPass()
		flush(t, h.ledger)
		h.vcenter.Finish(-1)
		h.now = h.now.Add(2 * time.Second)
	}
	if n := len(h.vcenter.VMs()); n != 1 {
		t.Errorf("%d VMs beside four of another group, under a quota of 5: %s", n, words(h.group().Status.Conditions))
	}
}
