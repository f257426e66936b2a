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
		name := fmt.Sprintf("web-replica-%d", i)
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

// tookLegacy checks that these VMs are the group's, by the order in which they were made, and were left alone otherwise.
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
		t.Errorf("the user is told %s", message)
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
		t.Errorf("the VM that nobody wants is %+v", left)
	}
	says(t, r.group(), v1alpha1.ConditionAdopted, "True", v1alpha1.ReasonVMsLeft)
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
	r.rounds(8)
	r.settle()
	r.tookLegacy(vms[2], vms[1], vms[0])
	if r.clones() > 0 {
		t.Errorf("%d VMs were cloned", r.clones())
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
			t.Errorf("%s: the user is told %s: %s", name, c.Reason, c.Message)
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
		t.Errorf("the group is gone: %v", err)
	}
}
