package vmgroup

import (
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func rootDisk(sizeGiB int32) func(*v1alpha1.VmGroupSpec) {
	return func(s *v1alpha1.VmGroupSpec) {
		s.Disks = &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: sizeGiB}}
	}
}

func TestRootDisksGrowAndABlockedOneStopsNothing(t *testing.T) {
	r := newRig(t)
	r.edit(rootDisk(20))
	r.settle()
	size := func(name string, want int32) {
		t.Helper()
		if got := r.vcenter.RootDiskGiB(name); got != want {
			t.Errorf("the root disk of %s has %d GiB, want %d", name, got, want)
		}
	}
	size("web-0", 20)
	r.vcenter.Snapshot("web-0", "before-upgrade")
	r.edit(rootDisk(40))
	g := r.work()
	size("web-0", 20)
	size("web-1", 40)
	message := says(t, g, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonGrowthBlocked)
	if !strings.Contains(message, "web-0") || !strings.Contains(message, "before-upgrade") || !strings.Contains(message, "40 GiB") || g.Status.ReadyReplicas != 2 {
		t.Errorf("%d are ready, and the group says %q", g.Status.ReadyReplicas, message)
	}
	if calls := r.vcenter.Calls(vsphere.OpPowerOff); len(calls) > 0 {
		t.Errorf("VMs were stopped: %v", calls)
	}
	r.vcenter.RemoveSnapshots("web-0") // the retry does not wait for the pause
	g = r.settle()
	size("web-0", 40)
	says(t, g, v1alpha1.ConditionUpToDate, "True", v1alpha1.ReasonUpToDate)
}

// The result of policies is cached for a spec, and the size of the disk is part of the question.
func TestALimitOfDisksHoldsForEachEdit(t *testing.T) {
	r := newRig(t)
	r.edit(rootDisk(100))
	r.settle()
	r.edit(rootDisk(101))
	if message := says(t, r.work(), v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonPolicyViolated); !strings.Contains(message, "exceeds the maximum 100 GiB") ||
		!strings.Contains(message, "root disk 100 GiB") || r.vcenter.RootDiskGiB("web-0") != 100 {
		t.Errorf("with a disk of %d GiB the group says %q", r.vcenter.RootDiskGiB("web-0"), message)
	}
}

func TestARootDiskSmallerThanTheTemplatesIsRefusedBeforeAClone(t *testing.T) {
	r := newRig(t)
	r.vcenter.AddTemplate(vsphere.Template{Name: "large", HasSnapshot: true, RootDiskBytes: 40 << 30})
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Template = "large"; rootDisk(30)(s) })
	g := r.work()
	if message := says(t, g, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonDiskTooSmall); !strings.Contains(message, "set at least 40") || len(r.vcenter.VMs()) > 0 {
		t.Errorf("%d VMs: %s", len(r.vcenter.VMs()), message)
	}
	// A linked clone could not have the size, so LinkedPreferred makes full ones.
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.CloneMode = v1alpha1.CloneLinkedPreferred; rootDisk(50)(s) })
	r.settle()
	for _, vm := range r.vcenter.VMs() {
		if vm.Stamp.Linked() || r.vcenter.RootDiskGiB(vm.Name) != 50 {
			t.Errorf("%s: mode %s, disk of %d GiB", vm.Name, vm.Stamp.CloneMode, r.vcenter.RootDiskGiB(vm.Name))
		}
	}
}

// No VM may be missing by default, so one more is needed while VMs restart.
func TestAnIDEDiskGrowsWithARestartAndOneMoreVM(t *testing.T) {
	r := rolls(t, 2)
	for _, vm := range r.vcenter.VMs() {
		r.vcenter.MoveToIDE(vm.Name)
	}
	r.edit(rootDisk(40))
	r.now = r.now.Add(time.Minute)
	most := 0
	r.watched(120, func(vms []vsphere.VM) {
		on := 0
		for _, vm := range vms {
			if vm.Power == vsphere.PoweredOn {
				on++
			}
		}
		if most = max(most, len(vms)); on < 2 {
			t.Errorf("%d VMs are on", on)
		}
	})
	if most != 3 {
		t.Errorf("there were %d VMs at most", most)
	}
	for _, vm := range r.vcenter.VMs() {
		if vm.Power != vsphere.PoweredOn || r.vcenter.RootDiskGiB(vm.Name) != 40 {
			t.Errorf("%s is %s with a disk of %d GiB", vm.Name, vm.Power, r.vcenter.RootDiskGiB(vm.Name))
		}
	}
}
