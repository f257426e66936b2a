package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// sizes are the sizes of the root disks of the group's VMs, in GiB.
func (s *saga) sizes() (all []int32) {
	for _, vm := range s.sorted() {
		all = append(all, vm.diskGiB)
	}
	return all
}

func TestRootDisksGrowWhileTheirVMsRun(t *testing.T) {
	for _, mode := range []v1alpha1.ResizeMode{"", v1alpha1.ResizeHot, v1alpha1.ResizeRestart, v1alpha1.ResizeRecreate} {
		s := newSaga(t, 3)
		was, stops := s.first(), countStops(s)
		s.spec.UpdateStrategy = &v1alpha1.UpdateStrategy{Resize: mode}
		s.spec.Disks = disksOf(40)
		p := s.run(settled)
		if is := s.first(); !slices.Equal(s.sizes(), []int32{40, 40, 40}) || *stops != 0 || len(is) != len(was) || is["vm-1"] != was["vm-1"] || p.Update.Reason != v1alpha1.ReasonUpToDate {
			t.Errorf("resize %q: after %d stops %v are %v, with disks of %v; %+v", mode, *stops, was, is, s.sizes(), p.Update)
		}
		// A disk stays as it is if spec leaves its size to the template again.
		s.spec.Disks = nil
		s.until(settled)
		s.spec.Disks = disksOf(30)
		if s.until(settled); !slices.Equal(s.sizes(), []int32{40, 40, 40}) || *stops != 0 {
			t.Errorf("resize %q: a smaller size led to %d stops and disks of %v", mode, *stops, s.sizes())
		}
	}
}

func TestASnapshotBlocksTheGrowthOfItsVMOnly(t *testing.T) {
	s := newSaga(t, 3)
	stops := countStops(s)
	s.byName("web-1").snapshot = true
	s.spec.Disks = disksOf(40)
	p := s.run(blocked(v1alpha1.ReasonGrowthBlocked))
	for range 5 {
		s.tick()
		p = s.step(nil)
	}
	if !slices.Equal(s.sizes(), []int32{40, templateDiskGiB, 40}) || p.Ready != 3 || *stops != 0 || p.Update.Reason != v1alpha1.ReasonRolloutProgressing ||
		!strings.Contains(p.Update.Message, "the change of web-1 failed and is retried") {
		t.Errorf("after %d stops, disks of %v and %d ready: %+v", *stops, s.sizes(), p.Ready, p.Update)
	}
	if vm := s.byName("web-1"); vm.Power != vsphere.PoweredOn {
		t.Errorf("web-1 is %s", vm.Power)
	}
	s.byName("web-1").snapshot = false
	if s.until(settled); !slices.Equal(s.sizes(), []int32{40, 40, 40}) {
		t.Errorf("without the snapshot, disks have %v", s.sizes())
	}
}

func TestABlockedGrowthIsTriedAtOnceAfterTheVMChanged(t *testing.T) {
	cause := &vsphere.GrowthBlocked{SizeGiB: 40, Blocker: "it has snapshot base", Remedy: "Remove the snapshots in vCenter", ChangeVersion: "v1"}
	refused := failure{Failure: vsphere.Failure{RetryAt: epoch.Add(time.Hour), Err: &vsphere.Error{Kind: vsphere.KindGrowthBlocked, Op: "reconfigure web-0", Err: cause}}}
	if !refused.waits(epoch, &vsphere.VM{ChangeVersion: "v1"}) || refused.waits(epoch, &vsphere.VM{ChangeVersion: "v2"}) {
		t.Error("the pause does not end with a change of the VM, or without one")
	}
	if reason, terminal := Explain(refused.Err); reason != v1alpha1.ReasonGrowthBlocked || !terminal {
		t.Errorf("it is reported as %s, terminal %t", reason, terminal)
	}
}

func TestAnIDEDiskGrowsWithARestart(t *testing.T) {
	s := newSaga(t, 2)
	stops := countStops(s)
	s.byName("web-0").ide = true
	s.spec.Disks = disksOf(40)
	if s.until(settled); !slices.Equal(s.sizes(), []int32{40, 40}) || *stops == 0 {
		t.Errorf("after %d stops, disks have %v", *stops, s.sizes())
	}
	for _, mode := range []v1alpha1.ResizeMode{v1alpha1.ResizeHot, v1alpha1.ResizeRecreate} {
		s := newSaga(t, 2)
		stops := countStops(s)
		s.byName("web-0").ide = true
		s.spec.UpdateStrategy, s.spec.Disks = &v1alpha1.UpdateStrategy{Resize: mode}, disksOf(40)
		p := s.run(func(p Plan) bool { return p.Update.Reason == v1alpha1.ReasonRestartPending })
		if *stops != 0 || !p.VMs[0].RestartPending || !strings.Contains(p.Update.Message, "resize is "+string(mode)+": web-0") {
			t.Errorf("resize %s: after %d stops %+v", mode, *stops, p.Update)
		}
	}
}

// TestNoVMIsStoppedWhoseDiskCannotGrow: the change of its size needs a restart. The other VM gets both.
func TestNoVMIsStoppedWhoseDiskCannotGrow(t *testing.T) {
	s := newSaga(t, 2)
	s.byName("web-0").snapshot = true
	s.strategy(number(0), number(1)) // no VM is added, which would be stopped at the end
	stops := countStops(s)
	s.spec.CPU, s.spec.Disks = 4, disksOf(40)
	p := s.run(func(p Plan) bool { return blocked(v1alpha1.ReasonGrowthBlocked)(p) && p.Updated == 1 && p.Ready == 2 })
	for range 30 {
		s.tick()
		p = s.step(nil)
	}
	if web0, web1 := s.byName("web-0"), s.byName("web-1"); *stops != 1 || p.Ready != 2 || web0.diskGiB != templateDiskGiB || web0.CPU != 2 || web1.CPU != 4 || web1.diskGiB != 40 {
		t.Errorf("after %d stops %d are ready, with disks of %v: %+v", *stops, p.Ready, s.sizes(), p.Update)
	}
	s.byName("web-0").snapshot = false
	if s.until(settled); *stops != 2 || !slices.Equal(s.sizes(), []int32{40, 40}) {
		t.Errorf("without the snapshot, after %d stops: disks of %v", *stops, s.sizes())
	}
}

// TestAVMThatWasStoppedRunsOnIfASnapshotCameInBetween, and is not stopped again before the snapshot has left.
func TestAVMThatWasStoppedRunsOnIfASnapshotCameInBetween(t *testing.T) {
	for _, most := range []int32{1, 3} {
		s := newSaga(t, 2)
		stops := countStops(s)
		s.spec.CPU, s.spec.Disks, s.spec.UpdateStrategy = 4, disksOf(40), &v1alpha1.UpdateStrategy{MaxSurge: number(0), MaxUnavailable: number(1), MaxFailures: most}
		s.run(func(Plan) bool { return *stops == 1 })
		name := "web-0"
		if s.byName("web-1").Power != vsphere.PoweredOn {
			name = "web-1"
		}
		for _, vm := range s.vms {
			vm.snapshot = true
		}
		for range 60 {
			s.tick()
			s.step(nil)
		}
		if vm := s.byName(name); vm.Power != vsphere.PoweredOn || *stops > 2 { // each of the two once, as the try before showed no snapshot
			t.Errorf("%d failures: after %d stops %s is %s", most, *stops, name, vm.Power)
		}
		for _, vm := range s.vms {
			vm.snapshot, vm.ChangeVersion = false, vm.ChangeVersion+"s"
		}
		if s.until(settled); !slices.Equal(s.sizes(), []int32{40, 40}) {
			t.Errorf("%d failures: without the snapshot, disks have %v", most, s.sizes())
		}
	}
}

func TestAVMThatBootsIsNotStoppedForALargerDisk(t *testing.T) {
	s := newSaga(t, 1)
	s.strategy(number(0), number(1))
	stops := countStops(s)
	s.byName("web-0").boot = 4
	s.spec.CPU = 4
	s.run(func(p Plan) bool {
		return *stops == 1 && p.VMs[0].Phase == v1alpha1.VMStarting && s.byName("web-0").Power == vsphere.PoweredOn && s.byName("web-0").CPU == 4
	})
	s.spec.Disks = disksOf(40)
	if s.until(settled); *stops != 1 || !slices.Equal(s.sizes(), []int32{40}) {
		t.Errorf("after %d stops, the disk has %v", *stops, s.sizes())
	}
}

// TestAStoppedVMIsStartedIfItsDiskIsRefused, and not stopped again before another edit. A try while it runs shows neither a full datastore, nor a privilege that is missing there.
func TestAStoppedVMIsStartedIfItsDiskIsRefused(t *testing.T) {
	for _, refusal := range []vsphere.Kind{vsphere.KindCapacity, vsphere.KindPermission} {
		for _, most := range []int32{1, 5} {
			s := newSaga(t, 2)
			s.byName("web-0").ide, s.byName("web-1").ide = true, true
			stops := countStops(s)
			s.spec.Disks = disksOf(40)
			s.spec.UpdateStrategy = &v1alpha1.UpdateStrategy{MaxSurge: number(0), MaxUnavailable: number(1), MaxFailures: most}
			s.locked, s.lockedOn = refusal, vsphere.KindOffOnly
			var p Plan
			for range 400 {
				p = s.step(nil)
				s.tick()
			}
			for _, vm := range s.sorted() {
				if vm.Power != vsphere.PoweredOn {
					t.Errorf("%s, %d failures: %s is %s", refusal, most, vm.Name, vm.Power)
				}
			}
			if *stops > 2 || p.Ready != 2 {
				t.Errorf("%s, %d failures: after %d stops %d are ready: %+v", refusal, most, *stops, p.Ready, p.Update)
			}
			if m := p.Update.Message; !strings.Contains(m, "set a larger disk") || strings.Contains(m, "set the old size") {
				t.Errorf("%s, %d failures: it says %q", refusal, most, m)
			}
			s.locked, s.lockedOn = "", ""
			s.spec.Disks = disksOf(50)
			if s.until(settled); !slices.Equal(s.sizes(), []int32{50, 50}) {
				t.Errorf("%s, %d failures: in the end, disks have %v", refusal, most, s.sizes())
			}
		}
	}
}
