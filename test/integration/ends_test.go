//go:build unix

package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// The stories of this file cover user changes in vCenter that block a group's deletion.

func TestAVMThatWasConvertedToATemplateHoldsItsGroupUntilItIsConvertedBack(t *testing.T) {
	w := calm.enter(t)
	v := newVCenter(t, w, "converted") // its calls are counted
	p := newPlace(t, w, "team-a", "converted")
	off := func(g *v1alpha1.VmGroup) { g.Spec.PowerState = v1alpha1.PoweredOff }
	p.apply(p.group("vg", 3, v.of, off))
	settled := func(g *v1alpha1.VmGroup) bool {
		return g.Status.ReadyReplicas == 3 && meta.IsStatusConditionTrue(g.Status.Conditions, v1alpha1.ConditionReady)
	}
	before := p.until("three VMs", "vg", settled)
	folder, ref := folderOf(t, before), before.Status.VMs[1].MoRef
	if err := w.Person.MarkAsTemplate(t.Context(), folder+"/vg-1"); err != nil {
		t.Fatal(err)
	}
	v.proxy.Reset()
	name := fmt.Sprintf("vg-1 (%s)", ref)
	says := func() {
		t.Helper()
		p.untilSays("vg", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonConvertedToTemplate, name, "convert them back")
	}
	says()
	// The others continue: one leaves, and with the group the last one.
	p.patch("vg", `{"spec":{"powerState":"PoweredOn"}}`)
	p.until("the others to run", "vg", func(g *v1alpha1.VmGroup) bool { return g.Status.ReadyReplicas == 2 })
	says()
	p.patch("vg", `{"spec":{"replicas":1}}`)
	untilVCenterHolds(t, w, folder, 2)
	says()
	p.delete("vg")
	left := untilVCenterHolds(t, w, folder, 1)
	says()
	for path, vm := range left {
		if !vm.Template || vm.On || vm.Ref.Value != ref {
			t.Errorf("left is %s: %+v; want the template alone", path, vm)
		}
	}
	for _, call := range v.proxy.Changes() {
		if call.Object == ref || call.Method == "CloneVM_Task" {
			t.Errorf("%s was sent for %s", call.Method, call.Object)
		}
	}
	if err := w.Person.MarkAsVM(t.Context(), folder+"/vg-1"); err != nil {
		t.Fatal(err)
	}
	p.untilGone("vg")
	untilVCenterHolds(t, w, "/DC0/vm/converted", 0)
}

func TestAVMWithAVolumeIsKeptUntilTheVolumeIsDetached(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-a", "volume")
	p.apply(p.group("vg", 2, func(g *v1alpha1.VmGroup) { g.Spec.PowerState = v1alpha1.PoweredOff }))
	folder := folderOf(t, p.until("two VMs", "vg", func(g *v1alpha1.VmGroup) bool { return g.Status.ReadyReplicas == 2 }))
	const volume = "[LocalDS_0] fcd/volume.vmdk"
	if err := w.Person.AddDisk(t.Context(), folder+"/vg-1", volume, "6f1-2"); err != nil {
		t.Fatal(err)
	}
	p.patch("vg", `{"spec":{"replicas":1}}`)
	g := p.untilSays("vg", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonForeignDisk, "vg-1", volume, "6f1-2", "govc device.remove -vm '"+folder+"/vg-1' -keep disk-1000-0")
	if vms := g.Status.VMs; len(vms) != 2 || !strings.Contains(vms[1].Message, volume) {
		t.Errorf("status has the VMs %+v", vms)
	}
	if vm, ok := inVCenter(t, w, folder)[folder+"/vg-1"]; !ok || vm.On {
		t.Errorf("the VM is %+v, want it off", vm)
	}
	if err := w.Person.DetachDisk(t.Context(), folder+"/vg-1", volume); err != nil {
		t.Fatal(err)
	}
	p.until("the other VM alone", "vg", func(g *v1alpha1.VmGroup) bool {
		return len(g.Status.VMs) == 1 && meta.IsStatusConditionTrue(g.Status.Conditions, v1alpha1.ConditionReady)
	})
	untilVCenterHolds(t, w, folder, 1)
	if there, err := w.Person.HasFile(t.Context(), volume); err != nil || !there {
		t.Errorf("the volume was deleted: %v", err)
	}
}

func TestAFolderThatAPersonMadeInAGroupsFolderStaysAndTheGroupGoes(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-a", "subfolder")
	p.apply(p.group("vg", 1))
	folder := folderOf(t, p.untilRunning("vg", 1))
	if err := w.Person.CreateFolders(t.Context(), folder+"/notes"); err != nil {
		t.Fatal(err)
	}
	innocent := must(t)(w.Person.CreateVM(t.Context(), folder+"/notes", "vg-0"))
	p.delete("vg")
	p.untilGone("vg")
	left := inVCenter(t, w, folder)
	if vm, ok := left[folder+"/notes/vg-0"]; len(left) != 1 || !ok || vm.Ref != innocent {
		t.Errorf("left: %s; want the VM in the folder that a person made", paths(left))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := await.Condition(ctx, "the event that says so", func(ctx context.Context) (bool, error) {
		events, err := p.cluster.Raw(ctx, "/apis/events.k8s.io/v1/namespaces/"+p.namespace+"/events")
		return strings.Contains(events, "FolderKept") && strings.Contains(events, folder), err
	}); err != nil {
		t.Error(err)
	}
}

func TestGroupsThatAreDeletedAtOnceLeaveNoFolder(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-b", "at-once")
	const groups = 40
	name := func(i int) string { return fmt.Sprintf("vg-%d", i) }
	for i := range groups {
		p.apply(p.group(name(i), 1))
		p.delete(name(i))
	}
	for i := range groups {
		p.untilGone(name(i))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var folders []string
	if err := await.Condition(ctx, "the folders to be gone", func(ctx context.Context) (bool, error) {
		all, err := w.Person.Folders(ctx, "/DC0/vm/vm-operator")
		folders = slices.DeleteFunc(all, func(path string) bool { return !strings.Contains(path, "/at-once/") })
		return len(folders) == 0, err
	}); err != nil {
		t.Errorf("%v; left: %v", err, folders)
	}
	if vms := inVCenter(t, w, "/DC0/vm/vm-operator/team-b/at-once"); len(vms) != 0 {
		t.Errorf("left: %s", paths(vms))
	}
}
