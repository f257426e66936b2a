//go:build unix

package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

func TestGroupsNeverShareAFolderOrAVM(t *testing.T) {
	w := calm.enter(t)
	places := []*place{newPlace(t, w, "team-a", "a-b"), newPlace(t, w, "team-a", "a"), newPlace(t, w, "team-b", "a-b")}
	names := []string{"c", "b-c", "c"}
	folders, vms := map[string]bool{}, map[string]bool{}
	note := func(g *v1alpha1.VmGroup) {
		folders[folderOf(t, g)] = true
		for _, vm := range g.Status.VMs {
			vms[vm.MoRef], vms[vm.UUID] = true, true
		}
	}
	for i, p := range places {
		p.apply(p.group(names[i], 2))
	}
	for i, p := range places {
		note(p.untilRunning(names[i], 2))
	}
	// A group that is recreated with its old name is another group.
	first := places[0].get("c")
	places[0].delete("c")
	places[0].untilGone("c")
	places[0].apply(places[0].group("c", 2))
	again := places[0].untilRunning("c", 2)
	if folderOf(t, again) == folderOf(t, first) {
		t.Errorf("the new group has the folder of the old one: %s", folderOf(t, again))
	}
	note(again)
	if len(folders) != 4 || len(vms) != 16 {
		t.Errorf("4 groups of 2 VMs have %d folders and %d references and UUIDs, want 4 and 16", len(folders), len(vms))
	}
}

func TestForeignVMsAndTheFolderTheyAreInSurviveEverything(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-a", "foreign")
	p.apply(p.group("vg", 2))
	folder := folderOf(t, p.untilRunning("vg", 2))

	// A foreign VM with a name that the group would use next, another one, and a manual copy with our stamp.
	stranger := must(t)(w.Person.CreateVM(t.Context(), folder, "vg-2"))
	other := must(t)(w.Person.CreateVM(t.Context(), folder, "my-vm"))
	duplicate := must(t)(w.Person.Copy(t.Context(), folder+"/vg-0", folder, "copy-of-vg-0"))
	foreign := []string{stranger.Value, other.Value, duplicate.Value}
	p.untilSays("vg", v1alpha1.ConditionForeignVMs, "True", v1alpha1.ReasonNameConflict, stranger.Value, other.Value, duplicate.Value)

	p.patch("vg", `{"spec":{"replicas":4}}`)
	grown := p.untilRunning("vg", 4)
	for _, vm := range grown.Status.VMs {
		if slices.Contains(foreign, vm.MoRef) {
			t.Errorf("the group counts the foreign VM %s (%s) as its own", vm.Name, vm.MoRef)
		}
	}
	p.patch("vg", `{"spec":{"replicas":0}}`)
	p.untilRunning("vg", 0)
	p.delete("vg")
	p.untilGone("vg")
	left := inVCenter(t, w, folder)
	for _, moRef := range foreign {
		found := false
		for _, vm := range left {
			found = found || vm.Ref.Value == moRef
		}
		if !found {
			t.Errorf("the foreign VM %s did not survive; left: %s", moRef, paths(left))
		}
	}
	if len(left) != 3 {
		t.Errorf("left in the folder: %s; want the three foreign VMs", paths(left))
	}
	for path, vm := range left {
		if vm.On && vm.Ref != duplicate {
			t.Errorf("%s was powered on", path)
		}
	}
}

func TestACopyInAnotherFolderIsReportedAndNotCounted(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-a", "copies")
	p.apply(p.group("vg", 2))
	p.apply(p.group("host", 1))
	g := p.untilRunning("vg", 2)
	elsewhere := folderOf(t, p.untilRunning("host", 1))
	duplicate := must(t)(w.Person.Copy(t.Context(), folderOf(t, g)+"/vg-1", elsewhere, "vg-1"))
	p.untilSays("vg", v1alpha1.ConditionForeignVMs, "True", v1alpha1.ReasonCopiedStamps, duplicate.Value)
	p.patch("vg", `{"spec":{"replicas":1}}`)
	p.untilRunning("vg", 1)
	p.delete("vg")
	p.untilGone("vg")
	p.delete("host")
	p.untilGone("host")
	if left := inVCenter(t, w, elsewhere); len(left) != 1 {
		t.Errorf("left: %s; want the copy alone", paths(left))
	}
}

func TestAnObjectOfTheOriginalIsHeldUntouched(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-b", "legacy")
	g := p.group("old", 3)
	g.Finalizers = []string{v1alpha1.LegacyFinalizer}
	p.apply(g)
	t.Cleanup(func() { p.patchWith(context.Background(), "old", `{"metadata":{"finalizers":null}}`) })
	held := p.untilSays("old", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonLegacyObject, v1alpha1.AdoptAnnotation)
	if held.Status.Phase != v1alpha1.PhaseError || !slices.Equal(held.Finalizers, []string{v1alpha1.LegacyFinalizer}) {
		t.Errorf("phase %s, finalizers %v; want ERROR and the original's finalizer alone", held.Status.Phase, held.Finalizers)
	}
	p.delete("old")
	p.until("deletion to be held", "old", func(g *v1alpha1.VmGroup) bool { return !g.DeletionTimestamp.IsZero() })
	p.untilSays("old", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonLegacyObject)
	if vms := inVCenter(t, w, "/DC0/vm/vm-operator/team-b/legacy"); len(vms) != 0 {
		t.Errorf("VMs were created for an object of the original: %s", paths(vms))
	}
}

func TestAbandonedObjectsOfTheOriginalBecomeOurs(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-b", "abandoned")
	g := p.group("old", 1)
	g.Finalizers = []string{v1alpha1.LegacyFinalizer}
	p.apply(g)
	p.untilSays("old", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonLegacyObject)
	p.patch("old", `{"metadata":{"annotations":{"`+v1alpha1.AdoptAnnotation+`":"`+v1alpha1.AdoptAbandon+`"}}}`)
	ours := p.untilRunning("old", 1)
	if !slices.Equal(ours.Finalizers, []string{v1alpha1.VmGroupFinalizer}) {
		t.Errorf("finalizers %v, want ours alone", ours.Finalizers)
	}
	if meta.FindStatusCondition(ours.Status.Conditions, v1alpha1.ConditionStalled) != nil {
		t.Error("the group is still reported as held")
	}
}

func TestRetainLeavesVMsThatAreNobodys(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-a", "retain")
	p.apply(p.group("vg", 2, func(g *v1alpha1.VmGroup) { g.Spec.DeletionPolicy = v1alpha1.DeletionRetain }))
	g := p.untilRunning("vg", 2)
	folder := folderOf(t, g)
	p.delete("vg")
	p.untilGone("vg")
	left := inVCenter(t, w, folder)
	if len(left) != 2 {
		t.Fatalf("left: %s; want both VMs", paths(left))
	}
	for path, vm := range left {
		if !vm.On {
			t.Errorf("%s was powered off", path)
		}
		mark := inventory.DecodeRelease(vm.Extra)
		if mark == nil || mark.Group != string(g.UID) || mark.Namespace != g.Namespace || mark.Revision != g.Status.UpdateRevision ||
			!strings.HasSuffix(path, fmt.Sprintf("/vg-%d", mark.Ordinal)) {
			t.Errorf("%s carries the release mark %+v, want one of group %s in namespace %s", path, mark, g.UID, g.Namespace)
		}
		for k, v := range vm.Extra {
			if strings.HasPrefix(k, "vmgroup.") && k != inventory.KeyReleased && k != inventory.KeyDisks && k != inventory.KeyRootDisk && k != inventory.KeyDataDisks && v != "" {
				t.Errorf("%s still carries %s=%s", path, k, v)
			}
		}
	}
}

// must returns a function that fails the test on an error.
func must(t *testing.T) func(ref moRef, err error) moRef {
	t.Helper()
	return func(ref moRef, err error) moRef {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
}
