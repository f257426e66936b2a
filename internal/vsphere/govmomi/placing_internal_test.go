package govmomi

import (
	"errors"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

func TestWhatCameOfAPlacingIsReadFromItsResult(t *testing.T) {
	ref := func(value string) types.ManagedObjectReference {
		return types.ManagedObjectReference{Type: "VirtualMachine", Value: value}
	}
	task := types.ManagedObjectReference{Type: "Task", Value: "task-1"}
	recommended := []types.ClusterRecommendation{{Key: "1"}}
	vm := vsphere.VMRef("vm-1")
	for name, c := range map[string]struct {
		result types.ClusterPowerOnVmResult
		next   string
		// kind is empty if the VM can still be powered on.
		kind vsphere.Kind
	}{
		"attempted":                          {types.ClusterPowerOnVmResult{Attempted: []types.ClusterAttemptedVmInfo{{Vm: ref("vm-2")}, {Vm: ref("vm-1"), Task: &task}}}, "task-1", ""},
		"attempted, with a recommendation":   {types.ClusterPowerOnVmResult{Attempted: []types.ClusterAttemptedVmInfo{{Vm: ref("vm-1")}}, Recommendations: recommended}, "", ""},
		"only recommended":                   {types.ClusterPowerOnVmResult{Recommendations: recommended}, "", vsphere.KindCapacity},
		"another one is refused":             {types.ClusterPowerOnVmResult{NotAttempted: []types.ClusterNotAttemptedVmInfo{{Vm: ref("vm-2")}}}, "", ""},
		"nothing is said":                    {types.ClusterPowerOnVmResult{}, "", ""},
		"refused without a fault":            {types.ClusterPowerOnVmResult{NotAttempted: []types.ClusterNotAttemptedVmInfo{{Vm: ref("vm-1")}}}, "", vsphere.KindTransient},
		"refused, with a recommendation":     {refusedFor(ref("vm-1"), &types.InsufficientFailoverResourcesFault{}, recommended...), "", vsphere.KindCapacity},
		"refused while it is powered on":     {refusedFor(ref("vm-1"), &types.TaskInProgress{}), "", vsphere.KindBusy},
		"refused for lack of a privilege":    {refusedFor(ref("vm-1"), &types.NoPermission{}), "", vsphere.KindPermission},
		"refused since it fits on no host":   {refusedFor(ref("vm-1"), &types.NoCompatibleHost{}), "", vsphere.KindCapacity},
		"refused since a file of it is lost": {refusedFor(ref("vm-1"), &types.GenericVmConfigFault{}), "", vsphere.KindTransient},
	} {
		for kind, value := range map[string]any{"value": c.result, "pointer": &c.result} {
			p, ok := placementOf(object{values: map[string]any{taskResult: value}})
			if !ok || p.next[vm] != c.next {
				t.Errorf("%s (%s): %+v, %t", name, kind, p, ok)
			}
			err := p.fate(vm)
			if err != nil {
				err = translateFor(operations.Request{Kind: vsphere.OpPowerOn}, err)
			}
			if (err == nil) != (c.kind == "") || err != nil && vsphere.KindOf(err) != c.kind {
				t.Errorf("%s (%s): %v of kind %s, want %s", name, kind, err, vsphere.KindOf(err), c.kind)
			}
		}
	}
	if _, ok := placementOf(object{values: map[string]any{taskResult: ref("vm-1")}}); ok {
		t.Error("the result of a clone is taken for a placing")
	}
}

func refusedFor(vm types.ManagedObjectReference, fault types.BaseMethodFault, recommended ...types.ClusterRecommendation) types.ClusterPowerOnVmResult {
	return types.ClusterPowerOnVmResult{
		NotAttempted:    []types.ClusterNotAttemptedVmInfo{{Vm: vm, Fault: types.LocalizedMethodFault{Fault: fault}}},
		Recommendations: recommended,
	}
}

func TestADatacenterIsAskedOnlyWhereDRSRuns(t *testing.T) {
	dc := vsphere.Ref{Type: vsphere.TypeDatacenter, Value: "datacenter-1"}
	pool := func(name string) vsphere.Ref { return vsphere.Ref{Type: typePool, Value: name} }
	on, off := vsphere.Ref{Type: typeCluster, Value: "on"}, vsphere.Ref{Type: typeCluster, Value: "off"}
	s := New(Config{})
	placedBy := func(p vsphere.Ref) bool { return s.placedBy(vsphere.VM{ResourcePool: p}) == dc }
	if placedBy(pool("a")) {
		t.Error("nothing is known yet")
	}
	s.cat.content = &content{
		datacenter: dc, computes: map[vsphere.Ref]compute{on: {drs: true}, off: {}},
		pools: []place{{ref: pool("a"), compute: on}, {ref: pool("b"), compute: off}, {ref: pool("c")}},
	}
	for p, want := range map[string]bool{"a": true, "b": false, "c": false, "unknown": false, "": false} {
		if got := placedBy(pool(p)); got != want {
			t.Errorf("pool %q: %t", p, got)
		}
	}
	if placedBy(vsphere.Ref{}) {
		t.Error("a VM whose pool is not shown")
	}
}

func TestOnlyAPrivilegeOnTheDatacenterSpeaksAgainstPlacing(t *testing.T) {
	dc := types.ManagedObjectReference{Type: "Datacenter", Value: "datacenter-1"}
	vm := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{taskError{&types.LocalizedMethodFault{Fault: &types.NoPermission{Object: &dc}}}, true},
		{taskError{&types.LocalizedMethodFault{Fault: &types.NoPermission{Object: &vm}}}, false},
		{taskError{&types.LocalizedMethodFault{Fault: &types.NoPermission{}}}, false},
		{taskError{&types.LocalizedMethodFault{Fault: &types.InvalidState{}}}, false},
		{errors.New("the reply was lost"), false}, {nil, false},
	} {
		if got := refusesPlacing(c.err, fromRef(dc)); got != c.want {
			t.Errorf("%v: %t", c.err, got)
		}
	}
}

func TestAPowerOnByDRSInItsOwnNameMayBeOurs(t *testing.T) {
	vm, dc := vsphere.VMRef("vm-1"), vsphere.Ref{Type: vsphere.TypeDatacenter, Value: "datacenter-1"}
	for _, c := range []struct {
		entity      vsphere.Ref
		reason      any
		description string
		want        bool
	}{
		{vm, types.TaskReasonSystem{}, "Drm.ExecuteVmPowerOnLRO", true},
		{vm, &types.TaskReasonSystem{}, "VirtualMachine.powerOn", true},
		{vm, types.TaskReasonSystem{}, "Drm.ExecuteVMotionLRO", false},
		{dc, types.TaskReasonSystem{}, "Datacenter.powerOnVm", false},
		{vm, types.TaskReasonUser{UserName: "another@corp"}, "VirtualMachine.powerOn", false},
	} {
		if got := placedForUs(operations.Untracked{Entity: c.entity}, c.reason, c.description); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
