package plan

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Attempts to replace a lost VM can fail for hours. The VM can return in that time, so each attempt
// searches for it first.
func TestALostVMIsLookedForBeforeEachAttemptToReplaceIt(t *testing.T) {
	old := makeKnown(0)
	next := intent(0, 1)
	next.Replaces = Lost{MoRef: old.MoRef, UUID: old.UUID}
	ref := vsphere.VMRef(old.MoRef)
	back := makeVM(0, func(vm *vsphere.VM) { vm.Ref = vsphere.VMRef("vm-back") })
	clone := makeVM(0, func(vm *vsphere.VM) {
		vm.Ref, vm.InstanceUUID, vm.Stamp.Incarnation = vsphere.VMRef("vm-clone"), next.UUID, next.Incarnation
	})
	back.InstanceUUID = old.UUID
	moved := back
	moved.Folder = vsphere.FolderRef("group-other")
	away := func(in *Input) {
		in.Observation.Elsewhere = append(in.Observation.Elsewhere, ref)
		in.Observation.Found = map[vsphere.Ref]vsphere.Found{ref: {Ref: back.Ref, Path: "/DC0/vm/Discovered virtual machine/web-0"}}
	}
	stale := func(in *Input) { in.Observation.Stale = append(in.Observation.Stale, ref) }
	others := func(in *Input) { in.Observation.Others = append(in.Observation.Others, ref) }
	for story, c := range map[string]struct {
		in      Input
		actions string
		moRef   string
		blocked string
	}{
		"it is deleted":                          {in: input(1, knows(next), goneRefs(old.MoRef)), actions: "CreateVM"},
		"it was looked for a while ago":          {in: input(1, knows(next), goneRefs(old.MoRef), stale)},
		"no search yet, after a takeover":        {in: input(1, knows(next))},
		"a foreign VM has its reference":         {in: input(1, knows(next), others), actions: "CreateVM"},
		"it is outside of the root folder":       {in: input(1, knows(next), away), moRef: old.MoRef, blocked: v1alpha1.ReasonVMsLost},
		"it is back":                             {in: input(1, knows(next), goneRefs(old.MoRef), sees(back)), moRef: "vm-back"},
		"it is back in another folder":           {in: input(1, knows(next), goneRefs(old.MoRef), sees(moved)), moRef: "vm-back"},
		"it is back, and the clone was made":     {in: input(1, knows(next), goneRefs(old.MoRef), sees(moved, clone)), moRef: "vm-clone"},
		"it is outside, and the clone was made":  {in: input(1, knows(next), away, sees(clone)), moRef: "vm-clone"},
		"it is outside while the clone runs":     {in: input(1, knows(next), away, running(vsphere.OpClone, 0, 0))},
		"nothing is known of what it replaces":   {in: input(1, knows(intent(0, 1))), actions: "CreateVM"},
		"it is not wanted any more, and deleted": {in: input(0, knows(next), goneRefs(old.MoRef))},
	} {
		t.Run(story, func(t *testing.T) {
			p := Compute(c.in)
			if got := actionsOf(p); (c.actions == "") != (got == "") || !strings.Contains(got, c.actions) {
				t.Errorf("actions %q, want %q", got, c.actions)
			}
			if len(p.VMs) > 0 && p.VMs[0].MoRef != c.moRef {
				t.Errorf("the VM is %s, want %s", p.VMs[0].MoRef, c.moRef)
			}
			if len(p.VMs) > 0 && c.moRef == "" && p.VMs[0].Replaces != c.in.Known[0].Replaces {
				t.Errorf("status forgets what it replaces: %+v", p.VMs[0].Replaces)
			}
			if c.blocked != "" && !blocked(c.blocked)(p) {
				t.Errorf("blocked by %+v", p.Blockers)
			}
		})
	}
}
