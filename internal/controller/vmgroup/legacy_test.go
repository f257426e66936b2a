package vmgroup

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
)

// legacy makes a group of the original operator, with VMs in a folder of its own outside of the root, the younger ones first.
func (r *rig) legacy(n int) (vms []vsphere.VM) {
	r.t.Helper()
	hands, root := r.vcenter.ByHand(), r.vcenter.Root()
	for i := range n {
		name := replica("web", i)
		ref := hands.AddForeignVM(root, name)
		hands.Edit(ref.Value, func(vm *vsphere.VM) { vm.CPU, vm.MemoryMiB = 1, 1024 })
		hands.SetCreated(name, noon.Add(-time.Duration(i)*time.Hour))
		hands.MoveOut(name)
		vm, _ := r.vcenter.VM(ref.Value)
		vms = append(vms, vm)
	}
	g := r.group()
	g.Finalizers = []string{v1alpha1.LegacyFinalizer}
	g.Annotations = map[string]string{v1alpha1.AdoptAnnotation: v1alpha1.AdoptLegacy}
	if err := r.member.Update(r.t.Context(), g); err != nil {
		r.t.Fatal(err)
	}
	r.vcenter.ClearJournal()
	return vms
}

// replica is a name in the form of the original operator.
func replica(group string, i int) string {
	return group + "-replica-" + strings.Repeat("z", 7) + string(rune('a'+i))
}

// stranger is a foreign VM in the folder.
type stranger struct {
	ref  vsphere.Ref
	name string
}

// besides puts foreign VMs into the folder.
func (r *rig) besides(names ...string) (strangers []stranger) {
	r.t.Helper()
	hands, root := r.vcenter.ByHand(), r.vcenter.Root()
	for _, name := range names {
		strangers = append(strangers, stranger{hands.AddForeignVM(root, name), name})
		hands.MoveOut(name)
	}
	r.vcenter.ClearJournal()
	return strangers
}

// leftAlone checks that VMs have their names, are still in the folder, and have no stamp.
func (r *rig) leftAlone(strangers []stranger) {
	r.t.Helper()
	for _, s := range strangers {
		if vm, _ := r.vcenter.VM(s.ref.Value); vm.Name != s.name || vm.Folder.Value != "group-v-elsewhere" || vm.Stamp != nil || vm.Released != nil {
			r.t.Errorf("%s became %+v", s.name, vm)
		}
	}
}

// grant grants folders to groups.
func (r *rig) grant(folders ...v1alpha1.LegacyFolder) {
	r.t.Helper()
	vc := &v1alpha1.VCenter{}
	if err := r.hub.Get(r.t.Context(), types.NamespacedName{Name: "default"}, vc); err != nil {
		r.t.Fatal(err)
	}
	vc.Spec.LegacyFolders = folders
	if err := r.hub.Update(r.t.Context(), vc); err != nil {
		r.t.Fatal(err)
	}
}

func legacyFolder(folder string) v1alpha1.LegacyFolder {
	return v1alpha1.LegacyFolder{Folder: folder, MemberCluster: v1alpha1.LocalMember, Namespace: "team", Group: "web"}
}

// tookLegacy checks that the group adopted these VMs, in the order of their creation, and did not change them otherwise.
func (r *rig) tookLegacy(oldestFirst ...vsphere.VM) {
	r.t.Helper()
	g := r.group()
	for i, was := range oldestFirst {
		is, _ := r.vcenter.VM(was.Ref.Value)
		if is.Stamp == nil || is.Stamp.Group != string(g.UID) || is.Stamp.Ordinal != int32(i) || is.Name != fmt.Sprintf("web-%d", i) || is.Folder.Value != g.Status.Folder.MoRef ||
			is.InstanceUUID != was.InstanceUUID || is.Power != was.Power || is.Released != nil {
			r.t.Errorf("%+v became %+v (stamp %+v)", was, is, is.Stamp)
		}
	}
	for _, kind := range []vsphere.OperationKind{vsphere.OpPowerOn, vsphere.OpPowerOff, vsphere.OpShutdownGuest, vsphere.OpMark, vsphere.OpDestroy, vsphere.OpRelease} {
		if calls := r.vcenter.Calls(kind); len(calls) > 0 {
			r.t.Errorf("vCenter was asked for %v", calls)
		}
	}
}

func TestVMsOfTheOriginalOperatorAreTakenOver(t *testing.T) {
	r := newRig(t)
	vms := r.legacy(2)
	r.rounds(3)
	r.asksNothing()
	if message := says(t, r.group(), v1alpha1.ConditionStalled, "True", v1alpha1.ReasonAdoptionNotAllowed); !strings.Contains(message, "{folder: vm-operator/team-web, memberCluster: local, namespace: team, group: web}") {
		t.Errorf("condition Stalled: %s", message)
	}
	r.grant(legacyFolder(fake.Outside))
	g := r.settle()
	r.tookLegacy(vms[1], vms[0])
	if len(r.vcenter.VMs()) != 2 || r.clones() > 0 || g.Status.UpdatedReplicas != 2 || !slices.Equal(g.Finalizers, []string{v1alpha1.VmGroupFinalizer}) {
		t.Errorf("%d VMs, %d cloned, finalizers %v, status %+v", len(r.vcenter.VMs()), r.clones(), g.Finalizers, g.Status)
	}
	r.vcenter.ClearJournal()
	r.grant()
	r.memory = memory{}
	r.rounds(3)
	r.asksNothing()
	if g := r.settle(); g.Status.Replicas != 2 {
		t.Errorf("afterwards there are %d VMs", g.Status.Replicas)
	}
}

// The original operator changed no VM that existed. An edit replaced the adopted VMs whose size was not that of spec: their shapes were unknown.
func TestAnEditOfAnAdoptedGroupChangesTheSizeOfItsVMsInPlace(t *testing.T) {
	for story, c := range map[string]struct {
		cpus []int32
		wipe bool
		more int32
		hand int32 // the number of CPUs that a person gives the VMs after the adoption
	}{
		"two sizes":                        {cpus: []int32{4, 2}},
		"more sizes than specs on record":  {cpus: []int32{2, 3, 4, 5, 6, 7, 8}},
		"more sizes than status records":   {cpus: []int32{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}},
		"status is lost":                   {cpus: []int32{4, 2}, wipe: true},
		"a person changes the sizes":       {cpus: []int32{4, 2}, hand: 5},
		"new VMs have the size of spec":    {cpus: []int32{4, 4}, more: 2},
		"one has the size that spec wants": {cpus: []int32{3, 1}},
	} {
		t.Run(story, func(t *testing.T) {
			r := newRig(t)
			vms := r.legacy(len(c.cpus))
			for i, cpu := range c.cpus {
				r.vcenter.ByHand().Edit(vms[i].Ref.Value, func(vm *vsphere.VM) { vm.CPU, vm.MemoryMiB = cpu, 3000 })
			}
			r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = int32(len(vms)) })
			r.grant(legacyFolder(fake.Outside))
			r.rounds(40)
			if c.wipe {
				r.status(func(s *v1alpha1.VmGroupStatus) { *s = v1alpha1.VmGroupStatus{} })
				r.rounds(10)
			}
			for _, vm := range vms {
				if c.hand > 0 {
					r.vcenter.ByHand().Edit(vm.Ref.Value, func(vm *vsphere.VM) { vm.CPU = c.hand })
				}
			}
			r.rounds(1)
			if message := says(t, r.group(), v1alpha1.ConditionUpToDate, "False", v1alpha1.ReasonNotStarted); strings.Contains(message, "replaceTrigger") {
				t.Errorf("it proposes to replace VMs that can be changed: %s", message)
			}
			r.edit(func(s *v1alpha1.VmGroupSpec) { s.CPU, s.Memory, *s.Replicas = 3, 2, *s.Replicas+c.more })
			r.watched(400, func(all []vsphere.VM) {
				for _, vm := range all {
					if old := slices.ContainsFunc(vms, func(was vsphere.VM) bool { return was.Ref == vm.Ref }); !old && vm.CPU != 3 {
						t.Errorf("%s has %d CPUs, which spec never asked for", vm.Name, vm.CPU)
					}
				}
			})
			for _, was := range vms {
				if vm, _ := r.vcenter.VM(was.Ref.Value); vm.Stamp == nil || vm.CPU != 3 || vm.MemoryMiB != 2048 || vm.Power != vsphere.PoweredOn {
					t.Errorf("%s is %+v", was.Ref.Value, vm)
				}
			}
			if n := len(r.vcenter.VMs()); n != len(vms)+int(c.more) {
				t.Errorf("%d VMs", n)
			}
		})
	}
}

func TestATakeoverInTheMiddleOfALegacyAdoptionGoesOn(t *testing.T) {
	for wiped := range 2 {
		r := newRig(t)
		vms := r.legacy(2)
		r.grant(legacyFolder(fake.Outside))
		for range 60 {
			r.memory = memory{}
			r.gate.epoch.Number++
			r.mustPass()
			r.vcenter.Step()
			r.now = r.now.Add(2 * time.Second)
			if wiped == 1 {
				r.status(func(s *v1alpha1.VmGroupStatus) { *s = v1alpha1.VmGroupStatus{} })
			}
		}
		r.settle()
		r.tookLegacy(vms[1], vms[0])
		if len(r.vcenter.VMs()) != 2 || r.clones() > 0 {
			t.Errorf("%d VMs, %d of them cloned", len(r.vcenter.VMs()), r.clones())
		}
	}
}

func TestTheLegacyFinalizerGoesLast(t *testing.T) {
	r := newRig(t)
	r.legacy(2)
	r.grant(legacyFolder(fake.Outside))
	for range 40 {
		r.mustPass()
		g, adopted := r.group(), 0
		for _, vm := range r.vcenter.VMs() {
			if vm.Stamp != nil {
				adopted++
			}
		}
		ours, theirs := slices.Contains(g.Finalizers, v1alpha1.VmGroupFinalizer), slices.Contains(g.Finalizers, v1alpha1.LegacyFinalizer)
		if calls := len(r.vcenter.Journal()); calls > 0 && !ours || adopted < 2 && !theirs {
			t.Fatalf("finalizers %v after %d calls, with %d VMs taken over", g.Finalizers, calls, adopted)
		}
		r.vcenter.Step()
		r.now = r.now.Add(time.Second)
	}
}

func TestWhatIsNotTheGroupsInALegacyFolderIsLeftAlone(t *testing.T) {
	r := newRig(t)
	vms := r.legacy(4)
	hands := r.vcenter.ByHand()
	stamped, marked := vms[2], vms[3]
	hands.Edit(stamped.Ref.Value, func(vm *vsphere.VM) {
		vm.Stamp = &vsphere.Stamp{GroupID: vsphere.GroupID{Installation: "i", Member: "m", Group: "g"}}
	})
	hands.Edit(marked.Ref.Value, func(vm *vsphere.VM) {
		vm.Released = &vsphere.ReleaseMark{GroupID: vsphere.GroupID{Installation: "i", Member: "m", Group: "g"}, Namespace: "team"}
	})
	root := r.vcenter.Root()
	hands.AddForeignVM(root, "made-into-a-template")
	hands.Edit("made-into-a-template", func(vm *vsphere.VM) { vm.IsTemplate = true })
	hands.MoveOut("made-into-a-template")
	r.grant(legacyFolder(fake.Outside))
	r.settle()
	r.tookLegacy(vms[1], vms[0])
	for _, name := range []string{stamped.Name, marked.Name, "made-into-a-template"} {
		if vm, ok := r.vcenter.VM(name); !ok || vm.Folder.Value != "group-v-elsewhere" {
			t.Errorf("%s became %+v", name, vm)
		}
	}
}

func TestMoreLegacyVMsThanAreWantedAreLeft(t *testing.T) {
	r := newRig(t)
	vms := r.legacy(3)
	r.grant(legacyFolder(fake.Outside))
	r.settle()
	r.rounds(3)
	r.tookLegacy(vms[2], vms[1])
	left, _ := r.vcenter.VM(vms[0].Ref.Value)
	if left.Name != vms[0].Name || left.Stamp != nil || left.Released != nil {
		t.Errorf("the surplus VM is %+v", left)
	}
	says(t, r.group(), v1alpha1.ConditionAdopted, "True", v1alpha1.ReasonVMsLeft)
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
	r.rounds(8)
	r.settle()
	r.tookLegacy(vms[2], vms[1], vms[0])
	if r.clones() > 0 {
		t.Errorf("%d VMs were cloned", r.clones())
	}
	says(t, r.group(), v1alpha1.ConditionAdopted, "True", v1alpha1.ReasonAdoptionEnded)
}

// The original's folder a-b-x is that of group x in namespace a-b, and of group b-x in namespace a.
func TestGroupsThatShareALegacyFolderTakeEachItsOwn(t *testing.T) {
	r := newRig(t)
	mine := r.legacy(2)
	others := r.besides(replica("shop", 0), replica("shop", 1))
	r.grant(legacyFolder(fake.Outside))
	r.settle()
	r.tookLegacy(mine[1], mine[0])
	r.leftAlone(others)
	for _, want := range []string{"2 VMs are", "web-replica-<8 letters a-z>", replica("shop", 0) + ", " + replica("shop", 1), "rename it so in vCenter"} {
		if message := says(t, r.group(), v1alpha1.ConditionAdopted, "True", v1alpha1.ReasonVMsLeft); !strings.Contains(message, want) {
			t.Errorf("%q is not in %q", want, message)
		}
	}
	web := r.request

	r.heir(heirUID, v1alpha1.AdoptLegacy, 2)
	r.rounds(3)
	r.asksNothing()
	says(t, r.group(), v1alpha1.ConditionStalled, "True", v1alpha1.ReasonAdoptionNotAllowed)
	moved := legacyFolder(fake.Outside)
	moved.Group = "shop"
	r.grant(moved)
	g := r.settle()
	for _, s := range others {
		if vm, _ := r.vcenter.VM(s.ref.Value); vm.Stamp == nil || vm.Stamp.Group != string(g.UID) {
			t.Errorf("%s was not taken over: %+v", s.name, vm)
		}
	}
	if message := says(t, g, v1alpha1.ConditionAdopted, "True", v1alpha1.ReasonAdoptionEnded); strings.Contains(message, "web-replica") {
		t.Errorf("condition Adopted: %q", message)
	}

	// The grant belongs to another group now, and a lost VM is cloned again all the same.
	r.request = web
	r.vcenter.ByHand().Delete("web-1")
	r.vcenter.ClearJournal()
	r.rounds(3)
	if g := r.settle(); r.clones() != 1 || g.Status.Replicas != 2 {
		t.Errorf("%d clones, status %+v", r.clones(), g.Status)
	}
	says(t, r.group(), v1alpha1.ConditionAdopted, "True", v1alpha1.ReasonAdoptionEnded)
}

func TestALostVMIsMadeAnewAfterTheLegacyFolderIsGone(t *testing.T) {
	r := newRig(t)
	vms := r.legacy(2)
	r.besides("precious")
	r.grant(legacyFolder(fake.Outside))
	r.settle()
	r.tookLegacy(vms[1], vms[0])
	r.grant(legacyFolder("somewhere/else"))
	r.vcenter.ByHand().Delete("web-1")
	r.rounds(3)
	if g := r.settle(); r.clones() != 1 || g.Status.Replicas != 2 {
		t.Errorf("%d clones, status %+v", r.clones(), g.Status)
	}
}

func TestOfManyVMsInALegacyFolderOnlyTheGroupsAreTaken(t *testing.T) {
	r := newRig(t)
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
	vms := r.legacy(3)
	names := make([]string, 2000)
	for i := range names {
		names[i] = fmt.Sprintf("foreign-machine-%04d", i)
	}
	others := r.besides(names...)
	r.grant(legacyFolder(fake.Outside))
	g := r.settle()
	r.tookLegacy(vms[2], vms[1], vms[0])
	r.leftAlone(others)
	if r.clones() > 0 || g.Status.Replicas != 3 {
		t.Errorf("%d clones, status %+v", r.clones(), g.Status)
	}
	message := says(t, g, v1alpha1.ConditionAdopted, "True", v1alpha1.ReasonVMsLeft)
	if len(message) > 1000 || !strings.Contains(message, "2000 VMs are") || !strings.Contains(message, names[7]+" and 1992 more") || strings.Contains(message, names[8]) {
		t.Errorf("condition Adopted: %q", message)
	}
}

func TestARenamedLegacyVMIsTakenOverOnceItHasItsNameBack(t *testing.T) {
	r := newRig(t)
	vms := r.legacy(1)
	renamed := r.besides("database")
	r.grant(legacyFolder(fake.Outside))
	r.settle()
	if vm, _ := r.vcenter.VM(vms[0].Ref.Value); vm.Stamp == nil || r.clones() != 1 {
		t.Fatalf("one became %+v, and %d VMs were cloned", vm, r.clones())
	}
	r.leftAlone(renamed)
	r.vcenter.ByHand().Rename("database", replica("web", 7))
	r.vcenter.ClearJournal()
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
	r.rounds(10)
	g := r.settle()
	if vm, _ := r.vcenter.VM(renamed[0].ref.Value); vm.Stamp == nil || vm.Stamp.Group != string(g.UID) || r.clones() > 0 {
		t.Errorf("it became %+v, and %d VMs were cloned", vm, r.clones())
	}
	says(t, g, v1alpha1.ConditionAdopted, "True", v1alpha1.ReasonAdoptionEnded)
}

func TestALegacyFolderWithoutAVMOfTheGroupHoldsIt(t *testing.T) {
	r := newRig(t)
	r.legacy(0)
	others := r.besides("database", replica("shop", 0))
	r.grant(legacyFolder(fake.Outside))
	r.rounds(4)
	r.asksNothing()
	message := says(t, r.group(), v1alpha1.ConditionStalled, "True", v1alpha1.ReasonAdoptionRefused)
	for _, want := range []string{"database, " + replica("shop", 0), "web-replica-<8 letters a-z>", v1alpha1.AdoptAnnotation + "=" + v1alpha1.AdoptAbandon} {
		if !strings.Contains(message, want) {
			t.Errorf("%q is not in %q", want, message)
		}
	}
	r.vcenter.ByHand().Rename("database", replica("web", 0))
	r.vcenter.ClearJournal()
	r.settle()
	if vm, _ := r.vcenter.VM(others[0].ref.Value); vm.Stamp == nil || r.clones() != 1 {
		t.Errorf("it became %+v, and %d VMs were cloned", vm, r.clones())
	}
}

func TestAFolderOfAnotherGroupIsNotTakenOver(t *testing.T) {
	other := legacyFolder(fake.Outside)
	other.Group = "other"
	namespace := legacyFolder(fake.Outside)
	namespace.Namespace = "other"
	member := legacyFolder(fake.Outside)
	member.MemberCluster = "other"
	twice := legacyFolder("elsewhere/")
	twice.Group = "other"
	for name, grants := range map[string][]v1alpha1.LegacyFolder{
		"another group's": {other}, "another namespace's": {namespace}, "another member's": {member}, "granted twice": {legacyFolder(fake.Outside), twice},
		"granted by another VCenter, too": {legacyFolder(fake.Outside)},
		"no such folder":                  {legacyFolder("vm-operator/team-web")},
	} {
		r := newRig(t)
		r.legacy(2)
		r.grant(grants...)
		if name == "granted by another VCenter, too" {
			other := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Spec: v1alpha1.VCenterSpec{LegacyFolders: []v1alpha1.LegacyFolder{twice}}}
			other.Status.InstanceUUID = "FAKE"
			if err := r.hub.Create(t.Context(), other); err != nil {
				t.Fatal(err)
			}
		}
		r.rounds(4)
		r.asksNothing()
		if c := r.condition(v1alpha1.ConditionStalled); c.Reason != v1alpha1.ReasonAdoptionNotAllowed && c.Reason != v1alpha1.ReasonAdoptionRefused {
			t.Errorf("%s: condition Stalled: %s: %s", name, c.Reason, c.Message)
		}
	}
}

func TestADeletedLegacyGroupIsHeldAndTakesNothingOver(t *testing.T) {
	r := newRig(t)
	r.legacy(2)
	r.grant(legacyFolder(fake.Outside))
	r.delete()
	r.rounds(4)
	r.asksNothing()
	says(t, r.group(), v1alpha1.ConditionStalled, "True", v1alpha1.ReasonLegacyObject)
	if err := r.member.Get(t.Context(), r.request.NamespacedName, &v1alpha1.VmGroup{}); client.IgnoreNotFound(err) != nil || err != nil {
		t.Errorf("the group was deleted: %v", err)
	}
}
