package govmomi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestAnAccountWithNothingOnTheRootObjectIsToldWhatToGrant(t *testing.T) {
	r := newRig(t, govmomi.Watch, func(o *sim.Options, _ *govmomi.Config) { o.NoRootPermission = true })
	r.until("the permission is missed", func() bool { return vsphere.KindOf(r.server.Health().Err) == vsphere.KindPermission })
	h := r.server.Health()
	for _, word := range []string{"recent tasks", "System.View", "group-d1", "Read-only"} {
		if !strings.Contains(h.Err.Error(), word) {
			t.Errorf("error %q does not say %q", h.Err, word)
		}
	}
	if h.Reachable || h.Complete {
		t.Errorf("health is %+v", h)
	}
}

// lenientRoot is an account without a permission on the root object, at a vCenter with few checks there.
func lenientRoot(o *sim.Options, _ *govmomi.Config) { o.NoRootPermission, o.RootLenient = true, true }

func TestThePrivilegeOnTheRootObjectIsCheckedWhenConnecting(t *testing.T) {
	r := newRig(t, govmomi.Watch).connected()
	if missing := r.server.Health().MissingPrivileges; len(missing) > 0 {
		t.Errorf("missing are %q", missing)
	}
	s := newRig(t, govmomi.Watch, lenientRoot).connected()
	if missing := s.server.Health().MissingPrivileges; !slices.Equal(missing, []string{"System.Read on the vCenter's root object (/)"}) {
		t.Errorf("missing are %q", missing)
	}
}

func TestADestructionWhoseTaskIsHiddenEndsWithinSeconds(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode, lenientRoot).ensure()
		vm := r.clone(0)
		must(t, r.server.Mark(r.ctx, target(vm)))
		r.until("marked", func() bool {
			marked, ok := find(r.observe(), 0)
			vm = marked
			return ok && marked.Tombstone && len(r.observe().InFlight) == 0
		})
		must(t, r.server.Destroy(r.ctx, target(vm)))
		r.until("the destruction to end and its slot to be free", func() bool {
			o := r.observe(vm.Ref)
			return len(o.Gone) == 1 && len(o.InFlight) == 0 && r.server.Health().RunningTasks == 0
		})
	})
}
