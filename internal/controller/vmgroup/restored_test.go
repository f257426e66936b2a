package vmgroup

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// The versions of a restored member are lower than those of the operator's own writes before.
func TestAGroupOfARestoredMemberIsActedOnAgain(t *testing.T) {
	r := newRig(t)
	g := r.settle()
	r.inform(r.Reconciler)
	r.memory.change(g.UID, func(m *remembered) { m.resourceVersion = g.ResourceVersion + "0" })
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
	if r.work(); len(r.vcenter.VMs()) != 2 {
		t.Fatalf("%d VMs: a cache that is older than a write was acted on", len(r.vcenter.VMs()))
	}
	r.MemberRestored("another")
	if r.work(); len(r.vcenter.VMs()) != 2 {
		t.Fatalf("%d VMs: another member was restored", len(r.vcenter.VMs()))
	}
	r.MemberRestored(v1alpha1.LocalMember)
	if r.work(); len(r.vcenter.VMs()) != 3 {
		t.Errorf("%d VMs, want 3", len(r.vcenter.VMs()))
	}
}

// The backup knows a VM that was lost and replaced since, and does not know what replaced it.
func TestAStatusFromABackupNeitherDoublesNorLosesVMs(t *testing.T) {
	r := newRig(t)
	backup := r.settle().Status
	r.vcenter.ByHand().Delete("web-1")
	replaced := r.work()
	if len(r.vcenter.VMs()) != 2 || replaced.Status.VMs[1].MoRef == backup.VMs[1].MoRef {
		t.Fatalf("the VM was not replaced: %+v", replaced.Status.VMs)
	}
	r.vcenter.ClearJournal()
	g := r.group()
	g.Status = backup
	if err := r.member.Status().Update(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	r.MemberRestored(v1alpha1.LocalMember)
	after := r.work()
	if clones, destroys := r.vcenter.Calls(vsphere.OpClone), r.vcenter.Calls(vsphere.OpDestroy); len(clones)+len(destroys) != 0 {
		t.Errorf("clones %v, destroys %v", clones, destroys)
	}
	for i, vm := range replaced.Status.VMs {
		if len(after.Status.VMs) != 2 || after.Status.VMs[i].MoRef != vm.MoRef {
			t.Fatalf("status has %+v, want %+v", after.Status.VMs, replaced.Status.VMs)
		}
	}
}
