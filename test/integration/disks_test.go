package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
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

// TestDataDisksReachVMsInPlaceAndStay, as a user sees it: clones with a data disk, another and a larger one of running VMs with their UUIDs in status, one that is removed, and a
// refusal to shrink.
func TestDataDisksReachVMsInPlaceAndStay(t *testing.T) {
	w := calm.enter(t)
	const disked = "with-a-root-disk"
	for _, err := range []error{w.Person.AddTemplate(t.Context(), "/DC0/vm", disked), w.Person.AddRootDisk(t.Context(), "/DC0/vm/"+disked, 2)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p := newPlace(t, w, "team-a", "data-disks")
	p.apply(p.group("vg", 2, func(g *v1alpha1.VmGroup) {
		g.Spec.Template, g.Spec.Disks = disked, &v1alpha1.Disks{Data: []v1alpha1.DataDisk{{Name: "data", SizeGiB: 1, Provisioning: v1alpha1.ProvisionThin}}}
	}))
	folder := folderOf(t, p.untilRunning("vg", 2))
	before := inVCenter(t, w, folder)
	// lists waits until status lists these data disks of each VM, and vCenter has them.
	lists := func(want ...v1alpha1.VMDisk) {
		t.Helper()
		p.until(fmt.Sprintf("the data disks %v", want), "vg", func(g *v1alpha1.VmGroup) bool {
			return meta.IsStatusConditionTrue(g.Status.Conditions, v1alpha1.ConditionUpToDate) && !slices.ContainsFunc(g.Status.VMs, func(vm v1alpha1.VMStatus) bool {
				disks, err := w.Person.Disks(t.Context(), folder+"/"+vm.Name)
				return err != nil || len(disks) != 1+len(want) || !slices.EqualFunc(vm.DataDisks, want, func(got, want v1alpha1.VMDisk) bool {
					return got.Name == want.Name && got.SizeGiB == want.SizeGiB && slices.ContainsFunc(disks, func(d types.VirtualDisk) bool {
						backing, _ := d.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
						return backing != nil && strings.EqualFold(backing.Uuid, got.UUID) && d.CapacityInBytes == int64(want.SizeGiB)<<30
					})
				})
			})
		})
	}
	lists(v1alpha1.VMDisk{Name: "data", SizeGiB: 1})
	p.patch("vg", `{"spec":{"disks":{"data":[{"name":"logs","sizeGiB":3},{"name":"data","sizeGiB":2}]}}}`)
	lists(v1alpha1.VMDisk{Name: "data", SizeGiB: 2}, v1alpha1.VMDisk{Name: "logs", SizeGiB: 3})
	p.patch("vg", `{"spec":{"disks":{"data":[{"name":"data","sizeGiB":2}]}}}`)
	lists(v1alpha1.VMDisk{Name: "data", SizeGiB: 2}, v1alpha1.VMDisk{Name: "logs", SizeGiB: 3})
	for path, vm := range inVCenter(t, w, folder) {
		if was := before[path]; was.Ref != vm.Ref || !vm.On || !vm.BootTime.Equal(*was.BootTime) {
			t.Errorf("%s was %+v and is %+v", path, was, vm)
		}
	}
	for patch, refused := range map[string]bool{
		`{"spec":{"disks":{"data":[{"name":"data","sizeGiB":1}]}}}`:                             true,
		`{"spec":{"disks":{"data":[{"name":"data","sizeGiB":101}]}}}`:                           true,
		`{"spec":{"disks":{"data":[{"name":"data","sizeGiB":3}]}}}`:                             false,
		`{"spec":{"disks":{"data":[{"name":"logs","sizeGiB":1},{"name":"data","sizeGiB":2}]}}}`: false, // a removed disk is not in spec any more
		`{"spec":{"disks":{"data":[{"name":"other","sizeGiB":1}]}}}`:                            false,
		`{"spec":{"disks":null}}`: false,
	} {
		err := p.cluster.Patch(t.Context(), p.group("vg", 0), client.RawPatch("application/merge-patch+json", []byte(patch)), client.DryRunAll)
		if (err != nil) != refused {
			t.Errorf("%s: %v, want refused: %v", patch, err, refused)
		}
	}
	p.patch("vg", `{"spec":{"replicas":0}}`) // data disks of the operator hold no deletion
	p.until("no VM", "vg", func(g *v1alpha1.VmGroup) bool { return len(g.Status.VMs) == 0 })
	if left := inVCenter(t, w, folder); len(left) > 0 {
		t.Errorf("left are %+v", left)
	}
}
