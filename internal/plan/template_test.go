package plan

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// template is a VM that a user converted.
func template(vm *vsphere.VM) { vm.IsTemplate, vm.Power = true, vsphere.PoweredOff }

func TestAVMThatWasConvertedToATemplateIsLeftAloneUntilItIsConvertedBack(t *testing.T) {
	const held = "ConvertedToTemplate!"
	runRules(t, []rule{
		{"it is not started, and not replaced", input(2, healthy(0), has(makeVM(1, template))),
			want{blockers: held, vms: "0:Ready 1:Unhealthy", existing: 2, ready: 1, updated: 2},
			[]string{"web-1 (vm-101)", "convert them back to virtual machines"}},
		{"a deletion continues with the others", input(2, healthy(0), has(makeVM(1, template)), deleting),
			want{actions: "MarkVM web-0", blockers: held, vms: "0:Deleting 1:Deleting", doomed: "0 1"}, []string{"web-1 (vm-101)"}},
		{"one that was marked already is not destroyed", input(0, has(makeVM(1, template, marked)), deleting),
			want{blockers: held, vms: "1:Deleting", doomed: "1"}, nil},
		{"nor released", input(0, has(makeVM(1, template)), deleting, spec(retain)), want{blockers: held, vms: "1:Deleting", doomed: "1"}, nil},
		{"nor stamped anew", input(1, has(makeVM(0, theirs, template)), succeeds),
			want{blockers: "Restamping, " + held, vms: "0:Unhealthy", existing: 1, updated: 1}, nil},
		{"what is to be stopped is not ready either", input(1, has(makeVM(0, template)), spec(wantOff)),
			want{blockers: held, vms: "0:Unhealthy", existing: 1, updated: 1}, nil},
		{"converted back", input(2, healthy(0), has(makeVM(1, template, power(vsphere.PoweredOff), func(vm *vsphere.VM) { vm.IsTemplate = false }))),
			want{actions: "PowerOnVM web-1", vms: "0:Ready 1:Unhealthy", existing: 2, ready: 1, updated: 2, repairing: true}, nil},
	})
}
