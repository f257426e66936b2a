package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// The record of UUIDs is bookkeeping: everything else comes first, and its failure holds nothing.
func TestUUIDsOfDataDisksAreRecordedWhenNothingElseIsToBeDone(t *testing.T) {
	with := func(list vsphere.DataDisks, more ...func(*vsphere.VM)) vsphere.VM {
		return makeVM(0, append(more, func(vm *vsphere.VM) { vm.DataDisks = list })...)
	}
	const list = "v1;data:2001:5"
	fails := func(retryIn time.Duration) option {
		return failed(vsphere.Failure{Kind: vsphere.OpIdentify, Ordinal: 0, At: epoch, RetryAt: epoch.Add(retryIn), Err: said{vsphere.KindTransient, "The host does not answer."}})
	}
	for story, c := range map[string]struct {
		in   Input
		want bool
	}{
		"a new disk":                        {input(1, has(with(list))), true},
		"no disk":                           {input(1, has(with(""))), false},
		"recorded":                          {input(1, has(with("v1;data:2001:5:-"))), false},
		"a malformed list":                  {input(1, has(with("v1;data"))), false},
		"a VM that is started first":        {input(1, sees(with(list, power(vsphere.PoweredOff)))), false},
		"a VM that is off, and not started": {input(1, has(with(list, power(vsphere.PoweredOff))), spec(observeOnly)), true},
		"a VM that is wanted off":           {input(1, has(with(list, power(vsphere.PoweredOff))), spec(wantOff)), true},
		"a VM out of reach":                 {input(1, has(with(list, func(vm *vsphere.VM) { vm.Connection = vsphere.Disconnected }))), false},
		"a VM that is backed up":            {input(1, has(with(list, func(vm *vsphere.VM) { vm.Disabled = "ReconfigVM_Task" }))), false},
		"a VM that leaves":                  {input(0, has(with(list))), false},
		"a group that is deleted":           {input(1, has(with(list)), deleting), false},
		"a group that is paused":            {input(1, has(with(list)), paused), false},
		"a VM with a task":                  {input(1, has(with(list)), running(vsphere.OpPowerOn, 0, time.Second)), false},
		"it failed a moment ago":            {input(1, has(with(list)), fails(time.Minute)), false},
		"it failed, and the time is up":     {input(1, has(with(list)), fails(-time.Second)), true},
	} {
		p := Compute(c.in)
		if got := slices.ContainsFunc(p.Actions, func(a Action) bool { return a.Identify }); got != c.want {
			t.Errorf("%s: %t, in %+v", story, got, p.Actions)
		}
		if slices.ContainsFunc(p.Blockers, func(b Blocker) bool {
			return !b.Remark && b.Reason != v1alpha1.ReasonPaused && b.Reason != v1alpha1.ReasonInventoryIncomplete
		}) && len(c.in.Observation.Failures) > 0 {
			t.Errorf("%s: the failure blocks the group: %+v", story, p.Blockers)
		}
		for _, vm := range p.VMs {
			if vm.Phase == v1alpha1.VMFailed {
				t.Errorf("%s: the VM counts as failed", story)
			}
		}
	}
}
