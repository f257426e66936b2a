package govmomi_test

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
)

func TestAVMThatWasConvertedToATemplateIsSeenAsOneAndIsNotDestroyed(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode).ensure()
		path := vmPath + r.clone(0).Name
		converted := func(to bool, convert error) vsphere.VM {
			must(t, convert)
			r.until("the conversion to be seen", func() bool { vm, ok := find(r.observe(), 0); return ok && vm.IsTemplate == to })
			return r.settled(0)
		}
		vm := converted(true, r.person.MarkAsTemplate(r.ctx, path))
		must(t, r.server.Mark(r.ctx, target(vm)))
		r.until("the refusal", func() bool { return len(r.observe().Failures) == 1 })
		if text := r.observe().Failures[0].Err.Error(); !strings.Contains(text, "converted to a virtual machine") || strings.Contains(text, "types.") {
			t.Errorf("the failure is %q", text)
		}

		vm = converted(false, r.person.MarkAsVM(r.ctx, path))
		must(t, r.server.Mark(r.ctx, target(vm)))
		r.until("marked", func() bool { vm, _ := find(r.observe(), 0); return vm.Tombstone && len(r.observe().InFlight) == 0 })
		vm = converted(true, r.person.MarkAsTemplate(r.ctx, path))
		wantKind(t, r.server.Destroy(r.ctx, target(vm)), vsphere.KindBusy)
		vm = converted(false, r.person.MarkAsVM(r.ctx, path))
		must(t, r.server.Destroy(r.ctx, target(vm)))
		r.until("gone", func() bool { o := r.observe(vm.Ref); return len(o.Gone) == 1 })
	})
}
