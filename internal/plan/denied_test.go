package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// deniedFirst is a group of 3 VMs that must get another size, and possibly another network with it. vCenter has
// rejected the change of web-0, and can be asked again.
func deniedFirst(unavailable int, network string, edits ...func(vms []vsphere.VM)) Input {
	own := resized
	vms := []vsphere.VM{makeVM(0), makeVM(1), makeVM(2)}
	for i := range vms {
		vms[i].CPU, vms[i].MemoryMiB, vms[i].Stamp.Revision = 1, 4096, own.Revision
	}
	for _, edit := range edits {
		edit(vms)
	}
	in := input(3, has(vms...), failed(vsphere.Failure{
		Kind: vsphere.OpReconfigure, RetryAt: epoch.Add(-time.Second), Revision: revision,
		Err: &vsphere.Error{Kind: vsphere.KindPermission, Privilege: vsphere.PrivilegeCPUs},
	}))
	if network != "" {
		own.Placement = &v1alpha1.Placement{Network: network}
	}
	in.Shapes = []Shape{{Recorded: own}}
	in.Rollout = &Rollout{Revision: revision, From: []string{own.Revision}, Start: epoch}
	in.Spec.Readiness = &v1alpha1.Readiness{Gate: v1alpha1.GateGuestIP}
	for i := range in.Observation.VMs {
		if vm := &in.Observation.VMs[i]; vm.GuestIP == "" {
			vm.GuestIP = "10.0.0.1"
		}
	}
	in.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{MaxSurge: number(0), MaxUnavailable: number(unavailable)}
	return in
}

// TestNobodyWaitsForADeniedVMThatCannotBeTried: the privilege can have been granted since, and only an attempt shows
// it.
func TestNobodyWaitsForADeniedVMThatCannotBeTried(t *testing.T) {
	hostAway := func(vms []vsphere.VM) { vms[0].Connection = vsphere.Disconnected }
	hangs := func(in Input) Input { in.Observation.VMs[1].GuestIP = ""; return in }
	for _, test := range []struct {
		name    string
		in      Input
		actions string
		says    string
	}{
		{"one that can be tried is, and no other is stopped", deniedFirst(2, ""), "ReconfigureVM web-0",
			"lacks the privilege VirtualMachine.Config.CPUCount to change web-0"},
		{"its host is disconnected", deniedFirst(2, "", hostAway), "PowerOffVM web-2",
			"lacked the privilege VirtualMachine.Config.CPUCount to change web-0, which is tried again when vCenter reaches it again (its host is disconnected: bring its host back)"},
		{"it is a template", deniedFirst(2, "", func(vms []vsphere.VM) { vms[0].IsTemplate = true }), "PowerOffVM web-2",
			"which is tried again when it is a virtual machine again"},
		{"its host is disconnected, and no more may be missing", deniedFirst(1, "", hostAway), "",
			"lacked the privilege VirtualMachine.Config.CPUCount to change web-0"},
		{"it would be cut off, and another is missing", hangs(deniedFirst(1, "dmz")), "PowerOffVM web-1",
			"to change web-0, which is tried again when fewer VMs are missing"},
		{"it may be cut off, too", hangs(deniedFirst(2, "dmz")), "ReconfigureVM web-0", "lacks the privilege VirtualMachine.Config.CPUCount to change web-0"},
	} {
		p := Compute(test.in)
		if got := actionsOf(p); got != test.actions || !strings.Contains(p.Update.Message, test.says) {
			t.Errorf("%s: actions are [%s], want [%s]; it says %q", test.name, got, test.actions, p.Update.Message)
		}
	}
}

// TestADeniedVMThatWaitsLeavesTheBudget: web-1 can be changed while it runs, and web-0 is not tried yet.
func TestADeniedVMThatWaitsLeavesTheBudget(t *testing.T) {
	in := deniedFirst(1, "dmz", func(vms []vsphere.VM) { vms[1].HotAdd.CPU = true })
	in.Observation.Failures[0].RetryAt = epoch.Add(time.Minute)
	p := Compute(in)
	if got := actionsOf(p); got != "ReconfigureVM web-1" || !p.WakeAt.Equal(epoch.Add(time.Minute)) {
		t.Errorf("actions are [%s], and it wakes at %s", got, p.WakeAt)
	}
}

// TestAVMThatWasOnlyChosenIsNotStoppedOnceAnotherIsDenied: vCenter rejected the change of web-2 for a privilege once it
// was off, and web-1 had no slot until then.
func TestAVMThatWasOnlyChosenIsNotStoppedOnceAnotherIsDenied(t *testing.T) {
	s := newSaga(t, 3)
	s.strategy(number(0), number(2))
	s.spec.Shutdown = &v1alpha1.Shutdown{Mode: v1alpha1.ShutdownHard}
	s.denies = true
	waits := s.chosen("web-1", "web-2")[0]
	s.others = 9
	s.watch = func(_ Input, p Plan) {
		if waits.Power != vsphere.PoweredOn {
			t.Errorf("%s is %s: %v", waits.Name, waits.Power, p.Update)
		}
	}
	slots := func(p Plan) Plan { // web-1 gets none at first
		p.Actions = slices.DeleteFunc(p.Actions, func(a Action) bool { return a.Name == "web-1" && a.Kind == PowerOffVM })
		return p
	}
	for range 3 {
		s.step(slots)
		s.tick()
	}
	s.looks(20)
	if p := s.step(nil); p.Ready != 3 || !strings.Contains(p.Update.Message, "lacks a privilege to change web-2") {
		t.Errorf("%d are available; %+v", p.Ready, p.Update)
	}
	s.watch, s.denies = nil, false
	s.until(settled)
}
