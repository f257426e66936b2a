package govmomi_test

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

// A replica of a backup product carries the copied stamp, and runs in a folder that the operator does not read.
func TestWhatCarriesTheStampOutsideOfTheRootIsNamed(t *testing.T) {
	r := newRig(t, govmomi.Watch, resyncOften).ensure()
	r.clone(0)
	moved := r.clone(1)
	copied, err := r.person.Copy(r.ctx, vmPath+"vg-0", "/DC0/vm", "vg-0_dr")
	must(t, err)
	_, err = r.person.Copy(r.ctx, vmPath+"vg-0", "/DC0/vm", "unstamped")
	must(t, err)
	must(t, r.person.Set(r.ctx, "/DC0/vm/unstamped", map[string]string{inventory.KeyOwner: ""}))
	must(t, r.person.Move(r.ctx, vmPath+"vg-1", "/DC0/vm"))
	r.until("the one that was moved is elsewhere", func() bool { return len(r.observe(moved.Ref).Elsewhere) == 1 })
	r.until("the search is complete", func() bool { return !r.server.Strays().At.IsZero() })
	found := r.server.Strays()
	paths := map[vsphere.Ref]string{}
	for _, vm := range found.VMs {
		paths[vm.Ref] = vm.Path
	}
	if found.Count != 2 || len(paths) != 2 || found.Limits != "" ||
		paths[vsphere.VMRef(copied.Value)] != "/DC0/vm/vg-0_dr" || paths[moved.Ref] != "/DC0/vm/vg-1" {
		t.Errorf("found %+v; want the copy and the VM that was moved", found)
	}
}
