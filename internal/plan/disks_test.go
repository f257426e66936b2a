package plan

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestAVMWithADiskOfSomebodyElseStaysUntilThatIsDetached(t *testing.T) {
	const held = "ForeignDisk!"
	off := func(ordinal int32) option { return has(makeVM(ordinal, marked, power(vsphere.PoweredOff))) }
	changed := func(ordinal int32) option {
		return has(makeVM(ordinal, marked, power(vsphere.PoweredOff), func(vm *vsphere.VM) { vm.ChangeVersion = "v2" }))
	}
	refused := func(ordinal int32, in time.Duration) option {
		foreign := &vsphere.ForeignDisks{Path: "/DC0/vm/web-0", ChangeVersion: "v1", Disks: []vsphere.Disk{{Device: "disk-1000-1", Label: "Hard disk 2"}}}
		return failed(vsphere.Failure{Kind: vsphere.OpDestroy, Ordinal: ordinal, RetryAt: epoch.Add(in),
			Err: &vsphere.Error{Kind: vsphere.KindForeignDisk, Op: "destroy web-0", Err: foreign}})
	}
	words := []string{"destroy web-0: ", "Hard disk 2", "govc device.remove -vm '/DC0/vm/web-0' -keep disk-1000-1"}
	runRules(t, []rule{
		{"the others continue", input(0, off(0), off(1), refused(0, time.Minute)),
			want{actions: "DestroyVM web-1", blockers: held, vms: "0:Deleting 1:Deleting", doomed: "0 1", wakeIn: time.Minute}, words},
		{"so does a deletion", input(0, deleting, off(0), off(1), refused(0, time.Minute)),
			want{actions: "DestroyVM web-1", blockers: held, vms: "0:Deleting 1:Deleting", doomed: "0 1", wakeIn: time.Minute}, words},
		{"which does not end without it", input(0, deleting, off(0), refused(0, time.Minute)),
			want{blockers: held, vms: "0:Deleting", doomed: "0", wakeIn: time.Minute}, nil},
		{"wanted VMs are none of its concern", input(1, off(0), healthy(1), refused(0, time.Minute)),
			want{blockers: held, vms: "0:Deleting 1:Ready", doomed: "0", existing: 1, ready: 1, updated: 1, wakeIn: time.Minute}, nil},
		{"it is tried again", input(0, off(0), refused(0, 0)),
			want{actions: "DestroyVM web-0", blockers: held, vms: "0:Deleting", doomed: "0"}, nil},
		{"at once if the VM was changed", input(0, changed(0), refused(0, time.Hour)),
			want{actions: "DestroyVM web-0", blockers: held, vms: "0:Deleting", doomed: "0"}, nil},
		{"several are counted", input(0, off(0), off(1), refused(0, time.Hour), refused(1, time.Minute)),
			want{blockers: held, vms: "0:Deleting 1:Deleting", doomed: "0 1", wakeIn: time.Minute}, []string{"(The same for 1 more VM.)"}},
	})
	again := Compute(input(0, off(0), refused(0, 0)))
	first := Compute(input(0, off(0)))
	if !again.Actions[0].Quiet || first.Actions[0].Quiet || again.VMs[0].Message == "" {
		t.Errorf("actions are %+v and before %+v, the VM %+v", again.Actions, first.Actions, again.VMs)
	}
}
