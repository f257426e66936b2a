package vmgroup

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// rounds runs passes, and ends vCenter's tasks in between.
func (r *rig) rounds(n int) {
	r.t.Helper()
	for range n {
		r.mustPass()
		r.vcenter.Finish(-1)
		r.now = r.now.Add(2 * time.Second)
	}
}

// status writes status by hand.
func (r *rig) status(change func(*v1alpha1.VmGroupStatus)) {
	r.t.Helper()
	g := r.group()
	change(&g.Status)
	if err := r.member.Status().Update(r.t.Context(), g); err != nil {
		r.t.Fatal(err)
	}
}

// references of all VMs.
func (r *rig) references() map[vsphere.Ref]bool {
	all := map[vsphere.Ref]bool{}
	for _, vm := range r.vcenter.VMs() {
		all[vm.Ref] = true
	}
	return all
}

// sameVMs checks that the group is ready, in its folder, with the VMs that there were, and calls none of them foreign.
func (r *rig) sameVMs(before map[vsphere.Ref]bool, folder v1alpha1.FolderStatus) {
	r.t.Helper()
	g, now := r.group(), r.references()
	for ref := range now {
		if !before[ref] {
			r.t.Errorf("%s was cloned", ref)
		}
	}
	if len(now) != len(before) || !meta.IsStatusConditionTrue(g.Status.Conditions, v1alpha1.ConditionReady) {
		r.t.Errorf("the VMs were %v and are %v: %s", before, now, words(g.Status.Conditions))
	}
	if g.Status.Folder == nil || *g.Status.Folder != folder {
		r.t.Errorf("the folder was %+v and is %+v", folder, g.Status.Folder)
	}
	if foreign := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionForeignVMs); foreign != nil {
		r.t.Errorf("it says of its own VMs: %s", foreign.Message)
	}
}

func TestAGroupWhoseStatusWasWipedIsAtHomeWhereItsVMsAreThoughItsMemberHasAnotherName(t *testing.T) {
	r := newRig(t)
	folder := *r.settle().Status.Folder
	before := r.references()
	r.status(func(s *v1alpha1.VmGroupStatus) { *s = v1alpha1.VmGroupStatus{} })
	r.Members = func(string) (Member, bool) { return Member{Name: "renamed", UID: "member-uid"}, true }
	r.vcenter.ClearJournal()
	r.rounds(4)
	r.sameVMs(before, folder)
	if calls := r.vcenter.Journal(); len(calls) != 0 {
		t.Errorf("it was looked for its folder, and that wrote: %v", calls)
	}
}

func TestAFolderThatIsNotTheGroupsIsNeitherUsedNorRemovedWhateverStatusSays(t *testing.T) {
	r := newRig(t)
	folder := *r.settle().Status.Folder
	ctx := vsphere.WithFence(t.Context(), func() error { return nil })
	other, err := r.vcenter.EnsureFolder(ctx, vsphere.FolderPath{Member: "other", Namespace: "team", Leaf: "db.0a1b2c3d"})
	if err != nil {
		t.Fatal(err)
	}
	innocent := r.vcenter.ByHand().AddForeignVM(other.Ref, "db-0")
	forge := func() {
		r.status(func(s *v1alpha1.VmGroupStatus) {
			s.Folder = &v1alpha1.FolderStatus{Path: other.Path, MoRef: other.Ref.Value}
		})
	}
	before := r.references()
	forge()
	r.rounds(4)
	r.sameVMs(before, folder)

	// What a group without VMs has on record may be from a vCenter that its server was before.
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Replicas = new(int32(0)) })
	r.rounds(6)
	forge()
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Replicas = new(int32(1)) })
	r.rounds(6)
	vm, ok := r.vcenter.VM("web-0")
	if g := r.group(); !ok || vm.Folder.Value != folder.MoRef || g.Status.Folder.MoRef != folder.MoRef {
		t.Errorf("%+v was cloned, status says folder %+v; the group's is %+v", vm, g.Status.Folder, folder)
	}

	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Replicas = new(int32(0)) })
	r.rounds(6)
	forge()
	if err := r.member.Delete(t.Context(), r.group()); err != nil {
		t.Fatal(err)
	}
	r.rounds(6)
	if now := r.references(); len(now) != 1 || !now[innocent] {
		t.Errorf("in the other's folder was %s, and there is %v", innocent, now)
	}
}

func TestAFolderThatAPersonRenamedStaysTheGroups(t *testing.T) {
	r := newRig(t)
	folder := *r.settle().Status.Folder
	before := r.references()
	r.vcenter.ByHand().RenameFolder(vsphere.FolderRef(folder.MoRef), "my-web")
	r.rounds(4)
	r.sameVMs(before, folder)
}

func TestAWipedStatusHoldsTheGroupWhenItsVMsCannotBeToldFromCopies(t *testing.T) {
	r := newRig(t)
	folder := *r.settle().Status.Folder
	before := r.references()
	for ref := range before {
		r.vcenter.ByHand().Edit(ref.Value, func(vm *vsphere.VM) { vm.InstanceUUID = "assigned-" + ref.Value })
	}
	r.status(func(s *v1alpha1.VmGroupStatus) { *s = v1alpha1.VmGroupStatus{} })
	r.rounds(3)
	says(t, r.group(), v1alpha1.ConditionStalled, "True", v1alpha1.ReasonCopiedStamps)
	if now := r.references(); len(now) != len(before) {
		t.Errorf("the VMs were %v and are %v", before, now)
	}
	if g := r.group(); g.Status.Folder != nil {
		t.Errorf("a folder was chosen: %+v", folder)
	}
}
