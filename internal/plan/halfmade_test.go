package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// beingMade adds a VM that a clone of another process can be creating, since a time.
func beingMade(name string, since time.Duration) option {
	return func(in *Input) {
		in.Observation.HalfMade = append(in.Observation.HalfMade, vsphere.HalfMade{
			VM: vsphere.VM{Ref: vsphere.VMRef("vm-half"), Name: name, Folder: folder, Power: vsphere.PoweredOff}, Task: "task-7", Since: epoch.Add(-since),
		})
	}
}

func clonesOf(p Plan) (names []string) {
	for _, a := range p.Actions {
		if a.Kind == CreateVM {
			names = append(names, a.Name)
		}
	}
	return names
}

// TestAVMThatAnotherProcessMayBeCloningIsNotClonedBeside: its name was taken for foreign, the next ordinal was
// cloned, and there were two VMs for one.
func TestAVMThatAnotherProcessMayBeCloningIsNotClonedBeside(t *testing.T) {
	for story, options := range map[string][]option{
		"recorded":     {healthy(0), knows(intent(1, 0)), beingMade("web-1", time.Second)},
		"not recorded": {healthy(0), beingMade("web-1", time.Second)},
	} {
		p := Compute(input(3, options...))
		if got := clonesOf(p); len(got) != 1 || got[0] != "web-2" {
			t.Errorf("%s: clones of %v", story, got)
		}
		if len(p.Foreign) != 0 || p.Ready != 1 || p.Existing != 1 || p.Settled {
			t.Errorf("%s: strangers %v, ready %d, existing %d, settled %v", story, p.Foreign, p.Ready, p.Existing, p.Settled)
		}
		vm := p.VMs[1]
		if vm.Name != "web-1" || vm.Phase != v1alpha1.VMCloning || !strings.Contains(vm.Message, "vm-half") || !strings.Contains(vm.Message, "task-7") || vm.Hangs != "" {
			t.Errorf("%s: %+v", story, vm)
		}
	}
}

func TestAGroupThatIsCompleteWithAVMThatIsBeingClonedWaits(t *testing.T) {
	p := Compute(input(3, healthy(0, 1), beingMade("web-2", time.Second)))
	if len(p.Actions) != 0 || p.Ready != 2 || p.Settled {
		t.Errorf("actions %v, ready %d, settled %v", p.Actions, p.Ready, p.Settled)
	}
}

// TestALostVMsSuccessorThatAnotherProcessMayBeCloningIsNotClonedBeside: the clone was planned, and the process that
// recorded it has ended.
func TestALostVMsSuccessorThatAnotherProcessMayBeCloningIsNotClonedBeside(t *testing.T) {
	p := Compute(input(2, healthy(0), knowsOrdinals(1), beingMade("web-1", time.Second), func(in *Input) {
		in.Observation.Gone = []vsphere.Ref{vsphere.VMRef(moRefOf(1))}
	}))
	if len(p.Actions) != 0 {
		t.Errorf("actions %v", p.Actions)
	}
}

func TestADeletionWaitsForAVMThatAnotherProcessMayBeCloning(t *testing.T) {
	deleting := func(in *Input) { in.Deleting = true }
	p := Compute(input(1, deleting, knows(intent(0, 0)), beingMade("web-0", time.Hour)))
	if p.Gone || len(p.Actions) != 0 || len(p.Doomed) != 1 {
		t.Errorf("gone %v, actions %v, doomed %v", p.Gone, p.Actions, p.Doomed)
	}
	vm := p.VMs[0]
	for _, word := range []string{"task-7", "cancel it if it hangs"} {
		if !strings.Contains(vm.Hangs, word) {
			t.Errorf("after an hour it says %q, want %q in it", vm.Hangs, word)
		}
	}
	// The clone ends: the VM belongs to the group.
	p = Compute(input(1, deleting, knows(intent(0, 0)), sees(makeVM(0, power(vsphere.PoweredOff)))))
	if p.Gone || len(p.Actions) != 1 || p.Actions[0].Kind != MarkVM {
		t.Errorf("gone %v, actions %v", p.Gone, p.Actions)
	}
	// It fails instead, and leaves a VM without a stamp, which is never destroyed.
	p = Compute(input(1, deleting, knows(intent(0, 0)), sees(makeVM(0, strange, power(vsphere.PoweredOff)))))
	if !p.Gone || len(p.Actions) != 0 || len(p.Foreign) != 1 {
		t.Errorf("gone %v, actions %v, strangers %v", p.Gone, p.Actions, p.Foreign)
	}
}

func TestAVMOfAnotherNameThatIsBeingClonedIsInNobodysWay(t *testing.T) {
	for _, name := range []string{"db-0", "web-01", "web"} {
		p := Compute(input(1, beingMade(name, time.Second)))
		if got := clonesOf(p); len(got) != 1 || got[0] != "web-0" || len(p.VMs) != 1 {
			t.Errorf("%s: clones of %v, VMs %v", name, got, p.VMs)
		}
	}
}

// TestAVMThatASmallerGroupDoesNotNeedLeavesOnceItIsThere: a scale-down chooses among clones in flight first.
func TestAVMThatASmallerGroupDoesNotNeedLeavesOnceItIsThere(t *testing.T) {
	p := Compute(input(1, healthy(0), beingMade("web-1", time.Second)))
	if len(p.Actions) != 0 || len(p.Doomed) != 1 || p.Doomed[0] != 1 {
		t.Errorf("actions %v, doomed %v", p.Actions, p.Doomed)
	}
}
