//go:build unix

package crash

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// evidence is the observation of one trial, all of it outside the manager.
type evidence struct {
	scenario Scenario
	group    string
	// uids are those of the group: two if it was recreated.
	uids []string
	// folder is the inventory path of the namespace's folder, which contains only this group.
	folder string
	// before and after are all VMs of vCenter, by path.
	before, after map[string]sim.VM
	// disks are those of the group's VMs after the change, by path, if the scenario is about them.
	disks map[string][]types.VirtualDisk
	// changes are the calls that changed something in vCenter.
	changes []sim.Record
	// bystander is the path of a foreign VM in the group's folder, or empty.
	bystander string
	// from is the path of another folder whose VMs are adopted, or empty.
	from string
	// receipts are those of the group on the hub.
	receipts []receipts.Receipt
}

// adopts reports whether a VM had to be adopted.
func (e evidence) adopts(path string) bool {
	return e.scenario.Adopts && path != e.bystander && (strings.HasPrefix(path, e.folder+"/") || e.from != "" && strings.HasPrefix(path, e.from+"/"))
}

// judge returns the violations, in sentences.
func judge(e evidence) []string {
	return slices.Concat(wrongVMs(e), touchedForeign(e), touchedKept(e), changedAdopted(e), notUpdated(e), wrongDisks(e), tooFew(e), wrongCalls(e), wrongReceipts(e))
}

// wrongVMs compares the group's VMs with the request.
func wrongVMs(e evidence) []string {
	var wrong []string
	found := map[string]string{}
	for path, vm := range e.after {
		if !strings.HasPrefix(path, e.folder+"/") || path == e.bystander {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if other, ok := found[name]; ok {
			wrong = append(wrong, fmt.Sprintf("%s exists twice: %s and %s", name, other, path))
		}
		found[name] = path
		if !vm.On {
			wrong = append(wrong, path+" is off")
		}
		if owner := ownerOf(vm); owner != e.uids[len(e.uids)-1] {
			wrong = append(wrong, fmt.Sprintf("%s carries the stamp of group %q, want %q", path, owner, e.uids[len(e.uids)-1]))
		}
	}
	if e.scenario.Replaced {
		if len(found) != int(e.scenario.After) {
			wrong = append(wrong, fmt.Sprintf("%d VMs are there, want %d: %s", len(found), e.scenario.After, strings.Join(slices.Sorted(maps.Values(found)), ", ")))
		}
		return wrong
	}
	for ordinal := range e.scenario.After {
		name := fmt.Sprintf("%s-%d", e.group, ordinal)
		if _, ok := found[name]; !ok {
			wrong = append(wrong, name+" is missing")
		}
		delete(found, name)
	}
	for _, path := range slices.Sorted(maps.Values(found)) {
		wrong = append(wrong, path+" is left over")
	}
	return wrong
}

// ownerOf returns the UID of the VmGroup in a VM's owner stamp.
func ownerOf(vm sim.VM) string {
	stamp, _ := inventory.DecodeStamp(vm.Extra)
	if stamp == nil {
		return ""
	}
	return stamp.Group
}

// touchedForeign compares everything outside the group with its former state.
func touchedForeign(e evidence) []string {
	var wrong []string
	foreign := func(path string) bool {
		return !strings.HasPrefix(path, e.folder+"/") && !e.adopts(path) || path == e.bystander
	}
	for path, vm := range e.before {
		if now, ok := e.after[path]; foreign(path) && (!ok || !same(vm, now)) {
			wrong = append(wrong, fmt.Sprintf("%s, which is not the group's, was changed: %+v became %+v", path, vm, now))
		}
	}
	for path := range e.after {
		if _, ok := e.before[path]; !ok && foreign(path) {
			wrong = append(wrong, path+" appeared outside of the group's folder")
		}
	}
	return wrong
}

func same(a, b sim.VM) bool {
	return a.Ref == b.Ref && a.On == b.On && a.Template == b.Template && a.CPU == b.CPU && a.MemoryMB == b.MemoryMB &&
		a.UUID == b.UUID && maps.Equal(a.Extra, b.Extra)
}

// touchedKept searches for changed VMs that had to stay unchanged.
func touchedKept(e evidence) []string {
	var wrong []string
	for path, vm := range e.before {
		for _, ordinal := range e.scenario.Kept {
			if strings.HasPrefix(path, e.folder+"/") && strings.HasSuffix(path, fmt.Sprintf("/%s-%d", e.group, ordinal)) && !same(vm, e.after[path]) {
				wrong = append(wrong, fmt.Sprintf("%s should have been kept as it is: %+v became %+v", path, vm, e.after[path]))
			}
		}
	}
	return wrong
}

// changedAdopted searches for VMs that had to be adopted and changed.
func changedAdopted(e evidence) []string {
	now := map[string]sim.VM{}
	for _, vm := range e.after {
		now[vm.Ref.Value] = vm
	}
	var wrong []string
	for path, was := range e.before {
		is, found := now[was.Ref.Value]
		is.Extra = was.Extra // the stamp differs
		if e.adopts(path) && (!found || !same(was, is)) {
			wrong = append(wrong, fmt.Sprintf("%s should have been taken over as it is: %+v became %+v", path, was, is))
		}
	}
	return wrong
}

// wrongCalls searches for calls without a reason in the change, whether or not they did harm.
func wrongCalls(e evidence) []string {
	owned := map[string]bool{}
	for path, vm := range e.before {
		if strings.HasPrefix(path, e.folder+"/") && path != e.bystander {
			owned[vm.Ref.Value] = true
		}
	}
	kept := map[string]string{}
	for path, vm := range e.before {
		for _, ordinal := range e.scenario.Kept {
			if owned[vm.Ref.Value] && strings.HasSuffix(path, fmt.Sprintf("/%s-%d", e.group, ordinal)) {
				kept[vm.Ref.Value] = path
			}
		}
	}
	var wrong []string
	for _, call := range e.changes {
		switch why := e.reasonless(call); {
		case kept[call.Object] != "":
			wrong = append(wrong, fmt.Sprintf("%s was called on %s, which should have been left alone", call.Method, kept[call.Object]))
		case why != "":
			wrong = append(wrong, fmt.Sprintf("%s was called on %s %s", call.Method, call.Object, why))
		case call.Group != "" && !slices.Contains(e.uids, call.Group):
			wrong = append(wrong, fmt.Sprintf("%s was called on %s, which is group %s's", call.Method, call.Object, call.Group))
		}
	}
	return wrong
}

// reasonless returns why the change gave no reason for a call, or an empty string.
func (e evidence) reasonless(call sim.Record) string {
	if e.updates() {
		return e.reasonlessUpdate(call)
	}
	adds := call.Method == "CloneVM_Task" || call.Method == "PowerOnVM_Task"
	removes := call.Method == "Destroy_Task" || call.Method == "PowerOffVM_Task" || call.Method == "ShutdownGuest"
	shrinks := e.scenario.Gone && e.scenario.After == 0 || e.scenario.After < e.scenario.Before || len(e.uids) > 1 && !e.scenario.Adopts
	switch {
	case adds && e.scenario.Adopts:
		return "although the VMs were there and ran"
	case removes && strings.HasPrefix(call.Object, "vm-") && !shrinks:
		return "although nothing had to go"
	}
	return ""
}
