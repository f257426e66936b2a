package plan

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// toggle disconnects the host of a VM, or reconnects it.
func toggle(vm *simVM) {
	if vm.Connected() {
		vm.Connection = vsphere.Disconnected
	} else {
		vm.Connection = vsphere.Connected
	}
}

// An orphaned or invalid VM does not return automatically: a wait for its host would never end.
func TestEachStateOfAVMOutOfReachHasAWayOut(t *testing.T) {
	for state, says := range map[vsphere.Connection][]string{
		vsphere.Disconnected: {"its host is disconnected", "bring its host back"},
		vsphere.Inaccessible: {"its files cannot be reached", "bring its storage back"},
		vsphere.Orphaned:     {"orphaned", "register it again, or power it off and remove it from the inventory; the group then continues automatically"},
		vsphere.Invalid:      {"invalid: its configuration cannot be read", "register it again, or power it off and remove it from the inventory"},
	} {
		is := func(vm *vsphere.VM) { vm.Connection = state }
		for place, in := range map[string]Input{
			"running":     input(2, has(makeVM(0, is), makeVM(1))),
			"leaving":     input(1, has(makeVM(0, is), makeVM(1)), doomed(0)),
			"taken over":  input(1, adopts(makeVM(0, theOlds, is))),
			"stamped":     input(1, has(makeVM(0, theirs, is)), succeeds),
			"not changed": deniedFirst(1, "", func(vms []vsphere.VM) { vms[0].Connection = state }),
		} {
			t.Run(string(state)+"/"+place, func(t *testing.T) {
				p := Compute(in)
				all := p.Update.Message
				for _, b := range p.Blockers {
					all += "\n" + b.Message
					if b.Reason == v1alpha1.ReasonVMsLost && !b.Terminal {
						t.Errorf("the blocker is not terminal: %+v", b)
					}
				}
				for _, vm := range p.VMs {
					all += "\n" + vm.Message
				}
				for _, want := range says {
					if !strings.Contains(all, want) {
						t.Errorf("nothing says %q:%s", want, all)
					}
				}
			})
		}
	}
}
