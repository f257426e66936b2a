package vmgroup

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
)

// rounds runs passes. In between, ledgers answer and vCenter's tasks end.
func (r *rig) rounds(n int, ledgers ...*quota.Ledger) {
	r.t.Helper()
	for range n {
		r.mustPass()
		flush(r.t, ledgers...)
		r.vcenter.Finish(-1)
		r.now = r.now.Add(2 * time.Second)
	}
}

// status writes status manually.
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

// othersFolder makes the folder of another group.
func (r *rig) othersFolder() vsphere.Folder {
	r.t.Helper()
	ctx := vsphere.WithFence(r.t.Context(), func() error { return nil })
	folder, err := r.vcenter.EnsureFolder(ctx, vsphere.FolderPath{Member: "other", Namespace: "team", Leaf: "db.0a1b2c3d"})
	if err != nil {
		r.t.Fatal(err)
	}
	return folder
}

// sameVMs checks that the group is ready, in its folder, with its previous VMs, and calls none of them foreign.
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

// rename gives the cluster of the member another MemberCluster.
func (r *rig) rename(name string) {
	r.Fleet.DeleteMember(string(r.request.ClusterName))
	r.request.ClusterName = multicluster.ClusterName(name)
	m := localMember()
	m.Name = name
	r.Fleet.SetMember(m)
}

func TestAGroupWhoseStatusWasWipedIsAtHomeWhereItsVMsAreThoughItsMemberHasAnotherName(t *testing.T) {
	r := newRig(t)
	folder := *r.settle().Status.Folder
	before := r.references()
	r.status(func(s *v1alpha1.VmGroupStatus) { *s = v1alpha1.VmGroupStatus{} })
	r.rename("renamed")
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
	other := r.othersFolder()
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

	// The record of a group without VMs can be from a vCenter that its server was before.
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

func TestAForgedFolderOfAnotherMemberIsNeitherUsedNorTold(t *testing.T) {
	for name, unknown := range map[string]func(*rig){
		"everything is known":               func(*rig) {},
		"a VM of it cannot be looked into":  func(r *rig) { r.vcenter.HideConfiguration("web-0") },
		"the inventory is not complete":     func(r *rig) { r.vcenter.SetIncomplete("vCenter is being read") },
		"its folder is outside of the root": func(r *rig) { r.vcenter.ByHand().MoveFolderOut(vsphere.FolderRef(r.group().Status.Folder.MoRef)) },
		"a stranger's VM takes the next name": func(r *rig) {
			r.vcenter.ByHand().AddForeignVM(vsphere.FolderRef(r.group().Status.Folder.MoRef), "web-2")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			victim := r.settle()
			unknown(r)
			before := map[vsphere.Ref]bool{}
			for _, vm := range r.vcenter.VMs() {
				before[vm.Ref] = vm.Folder.Value == victim.Status.Folder.MoRef
			}
			forged := victim.DeepCopy() // its UID as well, so that the folder's own name is the same
			forged.Status.Admitted = nil
			a := r.attackedBy(forged)
			r.attack(a, 4)
			for _, vm := range r.vcenter.VMs() {
				if in := vm.Folder.Value == victim.Status.Folder.MoRef; in != before[vm.Ref] {
					t.Errorf("%s (%s) is in the victim's folder %v", vm.Name, vm.Ref, in)
				}
			}
			var g v1alpha1.VmGroup
			if err := a.client.Get(t.Context(), a.request.NamespacedName, &g); err != nil {
				t.Fatal(err)
			}
			if f := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionForeignVMs); f != nil {
				t.Errorf("condition ForeignVMs of the attacker's group: %s", f.Message)
			}
			for _, c := range g.Status.Conditions {
				if strings.Contains(c.Message, "web-0") {
					t.Errorf("a condition of the attacker's group names the victim's VMs: %s: %s", c.Type, c.Message)
				}
			}
		})
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

func TestAFolderStaysTheGroupsThoughAPersonRenamedItAndTheVMs(t *testing.T) {
	r := newRig(t)
	folder := *r.settle().Status.Folder
	before := r.references()
	for ref := range before {
		r.vcenter.ByHand().Rename(ref.Value, "my-"+ref.Value)
	}
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

func TestARecordOfAVMThatIsNotTheGroupsIsDroppedAndNobodyIsAskedToTouchThatVM(t *testing.T) {
	for story, place := range map[string]func(r *rig, other vsphere.Ref) string{
		"outside of the root folder": func(r *rig, other vsphere.Ref) string {
			ref := r.vcenter.ByHand().AddForeignVM(other, "db-0")
			r.vcenter.ByHand().MoveOut("db-0")
			return ref.Value
		},
		"in another group's folder": func(r *rig, other vsphere.Ref) string { return r.vcenter.ByHand().AddForeignVM(other, "db-0").Value },
	} {
		t.Run(story, func(t *testing.T) {
			r := newRig(t)
			folder := *r.settle().Status.Folder
			other := r.othersFolder()
			innocent := place(r, other.Ref)
			r.status(func(s *v1alpha1.VmGroupStatus) { s.VMs[1].MoRef, s.VMs[1].UUID = innocent, "" })
			before := r.references()
			r.rounds(5)
			r.sameVMs(before, folder)
			r.status(func(s *v1alpha1.VmGroupStatus) { s.VMs[0].MoRef = innocent })
			if err := r.member.Delete(t.Context(), r.group()); err != nil {
				t.Fatal(err)
			}
			r.rounds(8)
			if now := r.references(); len(now) != 1 || !now[vsphere.VMRef(innocent)] {
				t.Errorf("the group was deleted, and there is %v; want the VM that is not its own, %s", now, innocent)
			}
		})
	}
}

func TestAVCenterThatStatusNamesAndThatDoesNotHaveTheVMsIsCorrected(t *testing.T) {
	for story, hub := range map[string]bool{"it does not exist": false, "it exists, and the VMs are in another": true} {
		t.Run(story, func(t *testing.T) {
			r := newRig(t)
			folder := *r.settle().Status.Folder
			before := r.references()
			if hub {
				other := fake.New(fake.Options{Now: r.Now})
				r.Servers = fake.Servers{"default": r.vcenter, "nope": other}
				if err := r.hub.Create(t.Context(), &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "nope"}}); err != nil {
					t.Fatal(err)
				}
			}
			r.status(func(s *v1alpha1.VmGroupStatus) { s.VCenter = "nope" })
			r.rounds(3)
			r.sameVMs(before, folder)
			if g := r.group(); g.Status.VCenter != "default" {
				t.Errorf("status names VCenter %q", g.Status.VCenter)
			}

			r.edit(func(s *v1alpha1.VmGroupSpec) { s.Replicas = new(int32(0)) })
			r.rounds(6)
			r.status(func(s *v1alpha1.VmGroupStatus) { s.VCenter, s.Folder = "nope", nil })
			r.edit(func(s *v1alpha1.VmGroupSpec) { s.Replicas = new(int32(1)) })
			r.rounds(6)
			if n := len(r.references()); !hub && n != 1 {
				t.Errorf("%d VMs: %s", n, words(r.group().Status.Conditions))
			}
		})
	}
}

func TestAGroupStaysWithTheVCenterOfItsVMsThoughSpecNamesAnother(t *testing.T) {
	r := newRig(t)
	r.settle()
	before := r.references()
	other := fake.New(fake.Options{Now: r.Now})
	r.Servers = fake.Servers{"default": r.vcenter, "other": other}
	if err := r.hub.Create(t.Context(), &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "other"}}); err != nil {
		t.Fatal(err)
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.VCenter = "other" })
	r.rounds(3)
	r.vcenter.Disconnect(&vsphere.Error{Kind: vsphere.KindTransient, Op: "connect"})
	r.rounds(3)
	if g := r.group(); g.Status.VCenter != "default" || len(r.references()) != len(before) || len(other.VMs()) != 0 {
		t.Errorf("status names VCenter %q, and the other one has %d VMs", g.Status.VCenter, len(other.VMs()))
	}
}

func TestAFolderThatAPersonMadeInTheGroupsFolderDoesNotHoldItsDeletion(t *testing.T) {
	r := newRig(t)
	folder := *r.settle().Status.Folder
	theirs := r.vcenter.ByHand().AddFolder(vsphere.FolderRef(folder.MoRef), "notes")
	if err := r.member.Delete(t.Context(), r.group()); err != nil {
		t.Fatal(err)
	}
	r.rounds(8)
	g := &v1alpha1.VmGroup{}
	if err := r.member.Get(t.Context(), r.request.NamespacedName, g); !apierrors.IsNotFound(err) {
		t.Errorf("the group is still there: %s", words(g.Status.Conditions))
	}
	if kept := r.vcenter.Observe(vsphere.Query{Folder: theirs}).Folder.Ref == theirs; !kept || len(r.references()) != 0 {
		t.Errorf("the folder that a person made is there: %v; VMs %v", kept, r.references())
	}
}

func TestAGroupThatIsDeletedBeforeItsFolderIsRecordedLeavesNoFolder(t *testing.T) {
	r := newRig(t)
	r.onStatus = func() error {
		return apierrors.NewConflict(schema.GroupResource{}, "web", errors.New("it is being deleted"))
	}
	r.mustPass()
	folder := r.vcenter.Observe(vsphere.Query{Path: vsphere.FolderPath{Member: v1alpha1.LocalMember, Namespace: "team", Leaf: "web.6d1b1c5e"}}).Folder
	if g := r.group(); folder.Ref.IsZero() || g.Status.Folder != nil {
		t.Fatalf("the folder is %+v and status says %+v", folder, g.Status.Folder)
	}
	r.onStatus = nil
	if err := r.member.Delete(t.Context(), r.group()); err != nil {
		t.Fatal(err)
	}
	r.rounds(4)
	if still := r.vcenter.Observe(vsphere.Query{Folder: folder.Ref}).Folder; still.Ref == folder.Ref {
		t.Errorf("the folder %s of the deleted group still exists", folder.Path)
	}
	if err := r.member.Get(t.Context(), r.request.NamespacedName, &v1alpha1.VmGroup{}); !apierrors.IsNotFound(err) {
		t.Errorf("the group is still there: %v", err)
	}
}

func TestAFolderOutsideOfTheRootThatIsNotTheGroupsIsNeitherWaitedForNorAskedBack(t *testing.T) {
	r := newRig(t)
	other := r.othersFolder()
	r.vcenter.ByHand().MoveFolderOut(other.Ref)
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Replicas = new(int32(0)) })
	r.rounds(2)
	// The record is from a vCenter that its server was before: here the reference is that of an unrelated folder.
	r.status(func(s *v1alpha1.VmGroupStatus) {
		s.Folder = &v1alpha1.FolderStatus{Path: "/DC0/vm/vm-operator/local/team/web.6d1b1c5e", MoRef: other.Ref.Value}
	})
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Replicas = new(int32(1)) })
	r.rounds(6)
	g := r.group()
	if len(r.references()) != 1 || g.Status.Folder == nil || g.Status.Folder.MoRef == other.Ref.Value {
		t.Fatalf("%d VMs, status says folder %+v: %s", len(r.references()), g.Status.Folder, words(g.Status.Conditions))
	}
	own := vsphere.FolderRef(g.Status.Folder.MoRef)

	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Replicas = new(int32(0)) })
	r.rounds(6)
	r.status(func(s *v1alpha1.VmGroupStatus) { s.Folder.MoRef = other.Ref.Value })
	if err := r.member.Delete(t.Context(), r.group()); err != nil {
		t.Fatal(err)
	}
	r.rounds(4)
	if err := r.member.Get(t.Context(), r.request.NamespacedName, &v1alpha1.VmGroup{}); !apierrors.IsNotFound(err) {
		t.Errorf("the group is still there: %v", err)
	}
	if stays := r.vcenter.Observe(vsphere.Query{Folder: own}).Folder; !stays.Ref.IsZero() {
		t.Errorf("the folder %s of the deleted group still exists", stays.Path)
	}
	if o := r.vcenter.Observe(vsphere.Query{Folder: other.Ref}); o.Folder.Ref != other.Ref {
		t.Errorf("the folder of other groups was deleted")
	}
}

func TestAFolderThatWasMovedOutWithItsVMsAndRenamedStaysTheGroups(t *testing.T) {
	r := newRig(t)
	folder := *r.settle().Status.Folder
	before := r.references()
	r.vcenter.ByHand().RenameFolder(vsphere.FolderRef(folder.MoRef), "my-web")
	r.vcenter.ByHand().MoveFolderOut(vsphere.FolderRef(folder.MoRef))
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Replicas = new(int32(len(before) + 1)) })
	r.rounds(6)
	if g := r.group(); len(r.references()) != len(before) || g.Status.Folder == nil || g.Status.Folder.MoRef != folder.MoRef {
		t.Errorf("the VMs were %v and are %v, the folder is %+v", before, r.references(), g.Status.Folder)
	}
}

// The folders of a renamed MemberCluster stay in place. A cluster that joins under its former name can show a group of the same
// name and UID.
func TestAMemberWithTheFormerNameOfAnotherIsNotAtHomeInItsFolders(t *testing.T) {
	for story, status := range map[string]func(*v1alpha1.VmGroupStatus){
		"it records nothing":    func(s *v1alpha1.VmGroupStatus) { *s = v1alpha1.VmGroupStatus{} },
		"it records the folder": func(s *v1alpha1.VmGroupStatus) { *s = v1alpha1.VmGroupStatus{Folder: s.Folder} },
	} {
		t.Run(story, func(t *testing.T) {
			r := newRig(t)
			victim := r.settle()
			before := r.references()
			forged := victim.DeepCopy()
			status(&forged.Status)
			a := r.attackedBy(forged)
			r.rename("renamed")
			r.Fleet.DeleteMember("attacker")
			r.memberIs(func(m *fleet.Member) { m.UID = "attacker-uid" })
			a.request.ClusterName = v1alpha1.LocalMember
			r.Clusters = clusters{"renamed": {client: r.member}, v1alpha1.LocalMember: {client: a.client}}
			r.attack(a, 6)
			if now := r.references(); len(now) != len(before) {
				t.Errorf("in the victim's folder the VMs were %v and are %v", before, now)
			}
			g := &v1alpha1.VmGroup{}
			if err := a.client.Get(t.Context(), a.request.NamespacedName, g); err != nil {
				t.Fatal(err)
			}
			says(t, g, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonNameConflict)
			if told := words(g.Status.Conditions); strings.Contains(told, "web-0") || g.Status.Folder != nil {
				t.Errorf("the conditions of the attacker's group name the victim's VMs, or its status keeps the folder %v: %s", g.Status.Folder, told)
			}
			r.vcenter.ByHand().RenameFolder(vsphere.FolderRef(victim.Status.Folder.MoRef), "victim")
			r.attack(a, 6)
			for _, vm := range r.vcenter.VMs() {
				if in := vm.Folder.Value == victim.Status.Folder.MoRef; in != before[vm.Ref] {
					t.Errorf("once the folder is renamed, as the message says, %s is in the victim's folder: %v", vm.Name, in)
				}
			}
			if now := r.references(); len(now) != 2*len(before) {
				t.Errorf("once the folder is renamed, as the message says, there are %v", now)
			}
		})
	}
}
