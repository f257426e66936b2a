package integration

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// TestARootDiskGrowsInPlaceAndASnapshotBlocksIt, as a user sees it: larger clones, a larger disk of running VMs, the reason why one stays, and a refusal to shrink.
func TestARootDiskGrowsInPlaceAndASnapshotBlocksIt(t *testing.T) {
	w := calm.enter(t)
	const disked = "with-a-disk"
	for _, err := range []error{w.Person.AddTemplate(t.Context(), "/DC0/vm", disked), w.Person.AddRootDisk(t.Context(), "/DC0/vm/"+disked, 2)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p := newPlace(t, w, "team-a", "disks")
	p.apply(p.group("vg", 2, func(g *v1alpha1.VmGroup) {
		g.Spec.Template, g.Spec.Disks = disked, &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: 5}}
	}))
	g := p.untilRunning("vg", 2)
	folder := folderOf(t, g)
	is := func(name string, want int32) error {
		if got, err := w.Person.RootDiskGiB(t.Context(), folder+"/"+name); err != nil || got != want {
			return fmt.Errorf("the root disk of %s has %d GiB, want %d: %w", name, got, want, err)
		}
		return nil
	}
	for _, vm := range g.Status.VMs {
		if err := is(vm.Name, 5); err != nil {
			t.Error(err)
		}
	}
	before := inVCenter(t, w, folder)
	if err := w.Person.Snapshot(t.Context(), folder+"/vg-0"); err != nil {
		t.Fatal(err)
	}
	p.patch("vg", `{"spec":{"disks":{"root":{"sizeGiB":8}}}}`)
	p.untilSays("vg", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonGrowthBlocked, "vg-0", "snapshot base", "8 GiB", "Remove the snapshots")
	await.NoError(t, "the other disk", func() error { return is("vg-1", 8) })
	if err := is("vg-0", 5); err != nil {
		t.Error(err)
	}
	if err := w.Person.RemoveSnapshots(t.Context(), folder+"/vg-0"); err != nil {
		t.Fatal(err)
	}
	// A change of the VM ends the pause before the next try. For the simulator, the removal of a snapshot is none.
	if err := w.Person.Set(t.Context(), folder+"/vg-0", map[string]string{"cleaned": "yes"}); err != nil {
		t.Fatal(err)
	}
	p.until("all disks", "vg", func(g *v1alpha1.VmGroup) bool {
		return is("vg-0", 8) == nil && meta.IsStatusConditionTrue(g.Status.Conditions, v1alpha1.ConditionUpToDate)
	})
	for path, vm := range inVCenter(t, w, folder) {
		if was := before[path]; was.Ref != vm.Ref || !vm.On {
			t.Errorf("%s was %+v and is %+v", path, was, vm)
		}
	}
	for patch, refused := range map[string]bool{
		`{"spec":{"disks":{"root":{"sizeGiB":7}}}}`:               true,
		`{"spec":{"disks":{"root":{"sizeGiB":8}}}}`:               false,
		`{"spec":{"disks":{"root":{"sizeGiB":101}}}}`:             true,
		`{"spec":{"disks":null}}`:                                 false,
		`{"spec":{"cloneMode":"Linked"}}`:                         true,
		`{"spec":{"cloneMode":"LinkedPreferred","replicas":3}}`:   false,
		`{"spec":{"disks":{"root":null},"cloneMode":"Linked"}}`:   false,
		`{"metadata":{"labels":{"a":"b"}},"spec":{"replicas":1}}`: false,
	} {
		err := p.cluster.Patch(t.Context(), p.group("vg", 0), client.RawPatch("application/merge-patch+json", []byte(patch)), client.DryRunAll)
		if (err != nil) != refused {
			t.Errorf("%s: %v, want refused: %v", patch, err, refused)
		}
	}
}
