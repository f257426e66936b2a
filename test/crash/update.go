//go:build unix

package crash

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// updates is true for a scenario in which an edit must reach VMs.
func (e evidence) updates() bool {
	return e.scenario.Replaced || e.scenario.Resized || e.scenario.Extended
}

// own are the group's VMs among others, by reference.
func (e evidence) own(vms map[string]sim.VM) map[string]sim.VM {
	own := map[string]sim.VM{}
	for path, vm := range vms {
		if strings.HasPrefix(path, e.folder+"/") && path != e.bystander {
			own[vm.Ref.Value] = vm
		}
	}
	return own
}

// notUpdated searches for VMs that the edit has not reached.
func notUpdated(e evidence) []string {
	if !e.updates() {
		return nil
	}
	var wrong []string
	before := e.own(e.before)
	old := map[string]bool{}
	for _, vm := range before {
		old[vm.Extra[inventory.KeyRevision]] = true
	}
	for ref, vm := range e.own(e.after) {
		was, there := before[ref]
		switch {
		case old[vm.Extra[inventory.KeyRevision]]:
			wrong = append(wrong, fmt.Sprintf("%s still has revision %s", vm.Path, vm.Extra[inventory.KeyRevision]))
		case e.scenario.Replaced && (there || vm.Extra[sim.GuestTools] != ""):
			wrong = append(wrong, fmt.Sprintf("%s (%s) should have been replaced by a VM of the other template", vm.Path, ref))
		case e.scenario.Extended && (!there || !runsOn(was, vm)):
			wrong = append(wrong, fmt.Sprintf("%s should be the same and run on: %+v became %+v", vm.Path, was, vm))
		case e.scenario.Resized && (!there || vm.UUID != was.UUID || vm.Path != was.Path || vm.CPU != 2 || vm.MemoryMB != was.MemoryMB):
			wrong = append(wrong, fmt.Sprintf("%s should be the same with two CPUs: %+v became %+v", vm.Path, was, vm))
		}
	}
	return wrong
}

// runsOn is true for a VM that was neither replaced nor stopped.
func runsOn(was, is sim.VM) bool {
	return is.UUID == was.UUID && is.Path == was.Path && is.BootTime != nil && was.BootTime != nil && is.BootTime.Equal(*was.BootTime)
}

// wrongDisks searches for VMs whose disks are not the root disk and those in the list of their configuration, which are those of the edit.
func wrongDisks(e evidence) (wrong []string) {
	if !e.scenario.Extended {
		return nil
	}
	for _, vm := range e.own(e.after) {
		list, known := inventory.DecodeDataDisks(vm.Extra).Attached()
		if !known || len(list) != 2 || list[0].Name != "a" || list[0].SizeGiB != 1 || list[1].Name != "b" || list[1].SizeGiB != 2 {
			wrong = append(wrong, fmt.Sprintf("%s lists the data disks %q", vm.Path, vm.Extra[inventory.KeyDataDisks]))
			continue
		}
		disks := e.disks[vm.Path]
		if len(disks) != 3 {
			wrong = append(wrong, fmt.Sprintf("%s has %d disks, want the root disk and two others", vm.Path, len(disks)))
		}
		for _, entry := range list {
			if !slices.ContainsFunc(disks, func(d types.VirtualDisk) bool {
				backing, _ := d.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
				return d.Key == entry.Key && d.CapacityInBytes == int64(entry.SizeGiB)<<30 && backing != nil && strings.EqualFold(backing.Uuid, entry.UUID)
			}) {
				wrong = append(wrong, fmt.Sprintf("%s has no disk as listed: %+v", vm.Path, entry))
			}
		}
	}
	return wrong
}

// tooFew searches for a moment at which fewer VMs ran than before: the default of spec.updateStrategy.maxUnavailable is
// 0. A call that powers a VM on always counts, and one that stops a VM only if the server has executed it.
func tooFew(e evidence) []string {
	if !e.updates() {
		return nil
	}
	on := map[string]bool{}
	for ref, vm := range e.own(e.before) {
		on[ref] = vm.On
	}
	for _, call := range e.changes {
		switch call.Method {
		case "PowerOnVM_Task":
			on[call.Object] = true
			continue
		case "ShutdownGuest", "PowerOffVM_Task", "Destroy_Task":
		default:
			continue
		}
		switch call.Outcome {
		case "ok", "cut after", "hang after", "truncate":
			delete(on, call.Object)
		}
		if len(on) < int(e.scenario.Before) {
			return []string{fmt.Sprintf("%s of %s left %d VMs that run, and there must be %d", call.Method, call.Object, len(on), e.scenario.Before)}
		}
	}
	return nil
}

// reasonlessUpdate returns why an update gave no reason for a call, or an empty string. Restarted VMs are not
// destroyed, and new ones are not destroyed before the end.
func (e evidence) reasonlessUpdate(call sim.Record) string {
	_, old := e.own(e.before)[call.Object]
	_, stays := e.own(e.after)[call.Object]
	stops := call.Method == "PowerOffVM_Task" || call.Method == "ShutdownGuest"
	switch {
	case call.Method == "Destroy_Task" && stays, call.Method == "Destroy_Task" && old && e.scenario.Resized:
		return "although it was to be kept"
	case call.Method == "Destroy_Task" && strings.HasPrefix(call.Object, "vm-") && !old && e.scenario.Replaced,
		stops && !old && e.scenario.Replaced:
		return "although it had only just come"
	}
	return ""
}
