package group

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func disks(sizeGiB int32) *v1alpha1.Disks {
	if sizeGiB == 0 {
		return nil
	}
	return &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: sizeGiB}}
}

// Disks do not shrink, and a disk that will grow counts before it grows.
func TestARootDiskCountsWithTheLargestSizeThatIsKnown(t *testing.T) {
	for story, c := range map[string]struct{ admitted, revision, vm, want int32 }{
		"as in the template":                           {0, 0, 0, 0},
		"grown, and spec asks for less since":          {10, 20, 40, 40},
		"not grown yet to its revision":                {10, 40, 20, 40},
		"not grown yet to spec":                        {40, 20, 20, 40},
		"adopted by a group whose spec states no size": {0, 0, 40, 40},
	} {
		shape := plan.ShapeOf(v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "t", Disks: disks(c.revision)})
		group := &v1alpha1.VmGroup{Spec: v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "t", Replicas: ptr.To[int32](1)}}
		group.Status = v1alpha1.VmGroupStatus{
			Admitted:  &v1alpha1.Admitted{Replicas: 1, VMShape: v1alpha1.VMShape{CPU: 1, Memory: 1, Template: "t", Disks: disks(c.admitted)}},
			Revisions: []v1alpha1.Revision{shape}, VMs: []v1alpha1.VMStatus{{MoRef: "vm-1", Revision: shape.Revision, RootDiskGiB: c.vm}},
		}
		if got := Shows(group).Storage; got != int64(c.want) {
			t.Errorf("%s: %d GiB count, want %d", story, got, c.want)
		}
	}
}

func TestRootDisksThatVCenterShowsCount(t *testing.T) {
	disk := func(ordinal, sizeGiB int32) vsphere.Marked {
		m := vsphere.Marked{CPU: 1, MemoryMiB: 1024, RootDiskGiB: sizeGiB}
		m.Ordinal = ordinal
		return m
	}
	released := disk(0, 40)
	released.Released = true
	for story, c := range map[string]struct {
		vms  []vsphere.Marked
		want int64
	}{
		"two":                {[]vsphere.Marked{disk(0, 10), disk(1, 20)}, 30},
		"a copy":             {[]vsphere.Marked{disk(0, 10), disk(0, 20)}, 20},
		"a released one too": {[]vsphere.Marked{disk(0, 10), released}, 50},
	} {
		if got := Stands(c.vms).Storage; got != c.want {
			t.Errorf("%s: %d GiB stand, want %d", story, got, c.want)
		}
	}
}

// A quota of storage alone limits the clones of a group.
func TestAQuotaOfStorageLeavesRoomForAsManyDisksAsItHas(t *testing.T) {
	others := []policy.Rule{policy.RuleQuotaVMs, policy.RuleQuotaCPU, policy.RuleQuotaMemory}
	for story, c := range map[string]struct {
		change func(*Snapshot, *vsphere.Observation)
		want   int
	}{
		"one is lost":         {func(_ *Snapshot, o *vsphere.Observation) { o.VMs, o.Gone = o.VMs[1:], []vsphere.Ref{o.VMs[0].Ref} }, 1},
		"one is out of sight": {func(_ *Snapshot, o *vsphere.Observation) { o.VMs = o.VMs[1:] }, 0},
		"one leaves":          {func(_ *Snapshot, o *vsphere.Observation) { o.VMs[0].Tombstone = true }, 0},
		"one is lost, and another has a larger disk": {func(_ *Snapshot, o *vsphere.Observation) {
			o.VMs, o.Gone = o.VMs[1:], []vsphere.Ref{o.VMs[0].Ref}
			o.VMs[0].RootDiskGiB = 80
		}, 0},
		"all are lost, and spec asks for disks of half the size": {func(s *Snapshot, o *vsphere.Observation) {
			for i := range o.VMs {
				o.Gone = append(o.Gone, o.VMs[i].Ref)
			}
			o.VMs, s.Group.Spec.Disks = nil, disks(20)
		}, 6},
	} {
		s := edited(func(spec *v1alpha1.VmGroupSpec) { spec.Disks = disks(40) })
		s.Admitted = &v1alpha1.Admitted{Replicas: 3, VMShape: v1alpha1.VMShape{CPU: 1, Memory: 1, Template: "debian", Disks: disks(40)}}
		s.Quota = &QuotaAnswer{Violations: []policy.Violation{{Rule: policy.RuleQuotaStorage, Enforced: true}}, Free: others}
		o := s.Observation
		for i := range o.VMs {
			o.VMs[i].RootDiskGiB, s.Group.Status.VMs[i].RootDiskGiB = 40, 40
		}
		c.change(s, &o)
		s.See(o)
		if n, limited := s.room(s.Group.Spec, nil); n != c.want || !limited {
			t.Errorf("%s: room for %d, want %d", story, n, c.want)
		}
	}
}

// The group that adopts states a size, and the VM is from before.
func TestTheShapeOfAnAdoptedVMCanHaveAnotherDiskThanSpec(t *testing.T) {
	spec := func(sizeGiB int32) v1alpha1.VmGroupSpec {
		return v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "t", Disks: disks(sizeGiB)}
	}
	for story, c := range map[string]struct {
		shape, disk int32
		is          bool
	}{
		"without a size":             {0, 0, true},
		"of another size":            {20, 20, true},
		"as in spec":                 {40, 0, true},
		"with a disk that is larger": {20, 30, false},
	} {
		was := plan.ShapeOf(spec(c.shape))
		vm := &vsphere.VM{CPU: 1, MemoryMiB: 1024, RootDiskGiB: c.disk, Stamp: &vsphere.Stamp{Revision: was.Revision}}
		if shape, is := shownBy(vm, plan.ShapeOf(spec(40))); is != c.is || is && shape.RootDiskGiB() != c.shape {
			t.Errorf("%s: %+v, %t", story, shape, is)
		}
	}
}

func TestOfAVMOutOfSightWhoseRevisionIsUnknownTheDiskCounts(t *testing.T) {
	s := edited()
	s.Group.Status.VMs[0].Revision, s.Group.Status.VMs[0].RootDiskGiB = "unknown", 80
	o := s.Observation
	o.VMs = o.VMs[1:]
	s.See(o)
	if z := s.described(0); z != (size{disk: 80}) || !z.unknown() {
		t.Errorf("it counts with %+v", z)
	}
}
