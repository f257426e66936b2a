package vmgroup

import (
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func quotaStorage(amount v1alpha1.Amount) v1alpha1.VmGroupPolicySpec {
	return v1alpha1.VmGroupPolicySpec{Quota: &v1alpha1.PolicyQuota{Storage: &amount, Scope: v1alpha1.QuotaNamespace}}
}

// Disks do not shrink, although spec can ask for less in two edits. A VM out of sight counted with the size in its revision.
func TestAVMOutOfSightCountsWithItsLargestDisk(t *testing.T) {
	r := newRig(t)
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3; rootDisk(40)(s) })
	r.settle()
	for _, change := range []func(*v1alpha1.VmGroupSpec){func(s *v1alpha1.VmGroupSpec) { s.Disks = nil }, rootDisk(20)} {
		r.edit(change)
		r.settle()
	}
	r.setPolicy(quotaStorage("120Gi"))
	ledger := r.ledgerOf(r.Reconciler, &quotatest.Store{})
	r.rounds(5, ledger)
	r.vcenter.ByHand().MoveOut("web-0")
	r.rounds(5, ledger)
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 4 })
	r.rounds(20, ledger)
	if n := len(r.vcenter.VMs()); n != 3 {
		t.Errorf("%d VMs, whose disks have more than 120 GiB", n)
	}
	message := says(t, r.group(), v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonQuotaExceeded)
	if !strings.Contains(message, "exceeds the quota of 120 GiB") || !strings.Contains(message, "120 are used") {
		t.Errorf("the message is %q", message)
	}
}

// A disk that grows counts before it grows.
func TestADiskGrowsOnlyWithinTheQuotaOfStorage(t *testing.T) {
	r := newRig(t)
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 2; rootDisk(40)(s) })
	r.settle()
	r.setPolicy(quotaStorage("100Gi"))
	ledger := r.ledgerOf(r.Reconciler, &quotatest.Store{})
	r.rounds(5, ledger)
	for _, c := range []struct{ asked, got int32 }{{51, 40}, {50, 50}} {
		r.edit(rootDisk(c.asked))
		r.rounds(20, ledger)
		for _, vm := range r.vcenter.VMs() {
			if got := r.vcenter.RootDiskGiB(vm.Ref.Value); got != c.got {
				t.Errorf("asked for %d GiB, %s has %d, want %d", c.asked, vm.Name, got, c.got)
			}
		}
	}
}

// The quota came after the group, whose spec sets no size. The group keeps what it has.
func TestALostVMFromBeforeAQuotaOfStorageReturns(t *testing.T) {
	r := newRig(t)
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 2 })
	r.settle()
	r.setPolicy(quotaStorage("10Gi"))
	ledger := r.ledgerOf(r.Reconciler, &quotatest.Store{})
	r.rounds(5, ledger)
	r.vcenter.ByHand().Delete("web-1")
	r.rounds(20, ledger)
	if n := len(r.vcenter.VMs()); n != 2 {
		t.Errorf("%d VMs, want 2: %+v", n, r.group().Status.Conditions)
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
	r.rounds(20, ledger)
	if n := len(r.vcenter.VMs()); n != 2 {
		t.Errorf("%d VMs, and the third has no stated size", n)
	}
	message := says(t, r.group(), v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonPolicyViolated)
	if !strings.Contains(message, "must be set, because the quota of VmGroupPolicy") {
		t.Errorf("the message is %q", message)
	}
	r.edit(rootDisk(5))
	r.rounds(20, ledger)
	if n := len(r.vcenter.VMs()); n != 2 {
		t.Errorf("%d VMs, whose disks have more than 10 GiB", n)
	}
}

// Before a VM of the new revision is ready, missing VMs can return in the revision before, which states no size. One edit that sets a size and asks for many VMs got them of the old
// template, charged with the new size.
func TestAGroupFromBeforeAQuotaOfStorageGrowsOnlyByStatedDisks(t *testing.T) {
	r := newRig(t)
	r.vcenter.AddTemplate(vsphere.Template{Name: "large", RootDiskBytes: 200 << 30})
	r.vcenter.AddTemplate(vsphere.Template{Name: "small", RootDiskBytes: 1 << 30})
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas, s.Template = 1, "large" })
	r.settle()
	r.setPolicy(quotaStorage("100Gi"))
	ledger := r.ledgerOf(r.Reconciler, &quotatest.Store{})
	r.rounds(5, ledger)
	r.edit(func(s *v1alpha1.VmGroupSpec) {
		*s.Replicas, s.Template, s.UpdateStrategy = 5, "small", &v1alpha1.UpdateStrategy{Paused: true}
		rootDisk(1)(s)
	})
	r.rounds(20, ledger)
	for _, vm := range r.vcenter.VMs() {
		if vm.Name != "web-0" && vm.RootDiskGiB == 0 {
			t.Errorf("%s has a disk of %d GiB that counts nowhere", vm.Name, r.vcenter.RootDiskGiB(vm.Ref.Value))
		}
	}
}

// An edit that no quota was asked about, because the hub was not reachable, is held. The schema allows a smaller size only in two edits.
func TestASizeThatExceedsAQuotaOfStorageIsLoweredInTwoEdits(t *testing.T) {
	r := newRig(t)
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 2; rootDisk(40)(s) })
	r.settle()
	r.setPolicy(quotaStorage("100Gi"))
	ledger := r.ledgerOf(r.Reconciler, &quotatest.Store{})
	r.rounds(5, ledger)
	r.edit(rootDisk(90))
	r.rounds(20, ledger)
	says(t, r.group(), v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonQuotaExceeded)
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Disks = nil })
	r.rounds(20, ledger)
	r.vcenter.ByHand().Delete("web-1")
	r.rounds(20, ledger)
	for _, vm := range r.vcenter.VMs() {
		if vm.RootDiskGiB != 40 {
			t.Errorf("while spec states no size, %s has %d GiB, want 40 as admitted", vm.Name, vm.RootDiskGiB)
		}
	}
	r.edit(rootDisk(45))
	r.rounds(20, ledger)
	for _, vm := range r.vcenter.VMs() {
		if vm.RootDiskGiB != 45 {
			t.Errorf("%s has %d GiB, want 45", vm.Name, vm.RootDiskGiB)
		}
	}
}

// The VM out of sight has an older revision, whose size is smaller than its disk.
func TestAVMOutOfSightCountsWithItsLargestDiskWhileOthersGrow(t *testing.T) {
	r := newRig(t)
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 1; rootDisk(80)(s) })
	r.settle()
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Disks = nil })
	r.settle()
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3; rootDisk(20)(s) })
	r.settle()
	r.setPolicy(quotaStorage("190Gi"))
	ledger := r.ledgerOf(r.Reconciler, &quotatest.Store{})
	r.rounds(5, ledger)
	r.vcenter.ByHand().MoveOut("web-0")
	r.rounds(5, ledger)
	r.edit(rootDisk(60))
	r.rounds(20, ledger)
	sum := int32(0)
	for _, vm := range r.vcenter.VMs() {
		sum += r.vcenter.RootDiskGiB(vm.Ref.Value)
	}
	if sum > 190 {
		t.Errorf("the disks have %d GiB under a quota of 190 GiB", sum)
	}
}

// A data disk that spec does not name any more stays on its VMs.
func TestADataDiskThatStaysCountsBesideANewOne(t *testing.T) {
	r := newRig(t)
	with := func(disks ...v1alpha1.DataDisk) func(*v1alpha1.VmGroupSpec) {
		return func(s *v1alpha1.VmGroupSpec) { rootDisk(10)(s); s.Disks.Data = disks }
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 2; with(disk("logs", 20))(s) })
	r.settle()
	r.setPolicy(quotaStorage("100Gi"))
	ledger := r.ledgerOf(r.Reconciler, &quotatest.Store{})
	r.rounds(5, ledger)
	for _, c := range []struct {
		asked int32
		want  string
	}{{21, " logs:20"}, {20, " data:20 logs:20"}} {
		r.edit(with(disk("data", c.asked)))
		r.rounds(20, ledger)
		for _, vm := range r.vcenter.VMs() {
			if got := dataOf(vm); got != c.want {
				t.Errorf("asked for %d GiB, %s has%s, want%s", c.asked, vm.Name, got, c.want)
			}
		}
	}
	// A VM out of sight counts with all of them, by status.
	r.vcenter.ByHand().MoveOut("web-0")
	r.rounds(5, ledger)
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3; with()(s) })
	r.rounds(20, ledger)
	if n := len(r.vcenter.VMs()); n != 2 {
		t.Errorf("%d VMs under a quota that two use up: %+v", n, r.group().Status.VMs)
	}
}

func TestStatusListsDataDisks(t *testing.T) {
	r := newRig(t)
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 1; dataDisks(disk("logs", 20), disk("data", 5))(s) })
	r.rounds(10)
	listed := func(want ...v1alpha1.VMDisk) {
		t.Helper()
		got := slices.Clone(r.group().Status.VMs[0].DataDisks)
		for i := range got {
			if !vsphere.IsUUID(got[i].UUID) {
				t.Errorf("%s has no UUID", got[i].Name)
			}
			got[i].UUID = ""
		}
		if !slices.Equal(got, want) {
			t.Errorf("status lists %+v, want %+v", got, want)
		}
	}
	listed(v1alpha1.VMDisk{Name: "data", SizeGiB: 5}, v1alpha1.VMDisk{Name: "logs", SizeGiB: 20})
	r.edit(dataDisks(disk("data", 6)))
	r.rounds(10)
	listed(v1alpha1.VMDisk{Name: "data", SizeGiB: 6}, v1alpha1.VMDisk{Name: "logs", SizeGiB: 20})
	// A person who edits the list in vCenter does not hide what it was.
	r.vcenter.ByHand().Edit("web-0", func(vm *vsphere.VM) { vm.DataDisks = "v1;data" })
	r.rounds(10)
	listed(v1alpha1.VMDisk{Name: "data", SizeGiB: 6}, v1alpha1.VMDisk{Name: "logs", SizeGiB: 20})
}
