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

// A data disk that spec does not name any more stays on its VM.
func TestDataDisksCountBesideThoseThatTheVMLacks(t *testing.T) {
	data := func(sizes ...int32) (disks []v1alpha1.DataDisk) {
		for i, size := range sizes {
			if size > 0 {
				disks = append(disks, v1alpha1.DataDisk{Name: string(rune('a' + i)), SizeGiB: size})
			}
		}
		return disks
	}
	for story, c := range map[string]struct {
		spec []v1alpha1.DataDisk
		list vsphere.DataDisks
		want int64
	}{
		"those of spec":                 {data(5, 7), "v1;a:2001:5,b:2002:7", 10 + 12},
		"one is missing":                {data(5, 7), "v1;a:2001:5", 10 + 12},
		"one will grow":                 {data(9), "v1;a:2001:5", 10 + 9},
		"one is larger":                 {data(3), "v1;a:2001:5", 10 + 5},
		"one that spec does not name":   {data(0, 7), "v1;a:2001:5", 10 + 12},
		"a list that is not understood": {data(5), "v2;a", 10 + 5},
	} {
		spec := v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "t", Disks: &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: 10}, Data: c.spec}}
		vm := &vsphere.VM{CPU: 1, MemoryMiB: 1024, RootDiskGiB: 10, DataDisks: c.list}
		has := sizeOf(vm)
		if got := asked(spec).max(has).storage(); got != c.want {
			t.Errorf("%s: %d GiB count, want %d", story, got, c.want)
		}
		if got := has.max(asked(spec)).storage(); got != c.want {
			t.Errorf("%s: %d GiB count the other way round, want %d", story, got, c.want)
		}
		if again := sizeOf(vm).storage(); again != has.storage() {
			t.Errorf("%s: the sizes of the VM changed from %d to %d", story, again, has.storage())
		}
	}
}

// The VM has no data disks of the operator: it gets those of spec with the next edit.
func TestAnAdoptedVMLacksTheDataDisksOfSpec(t *testing.T) {
	spec := v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "t", Disks: &v1alpha1.Disks{Data: []v1alpha1.DataDisk{{Name: "a", SizeGiB: 1}}}}
	vm := &vsphere.VM{CPU: 1, MemoryMiB: 1024}
	vm.Stamp = &vsphere.Stamp{Revision: sizedAs(plan.ShapeOf(spec), vm).Revision}
	if vm.Stamp.Revision == plan.Revision(spec) {
		t.Fatal("it counts as a VM of spec's revision")
	}
	if shape, is := shownBy(vm, plan.ShapeOf(spec)); !is || shape.Disks != nil {
		t.Errorf("its shape is %+v, %t", shape, is)
	}
}

// A group adopts VMs of another group, or status was lost. An edit replaces VMs of unknown shape.
func TestTheShapeOfAVMCanHaveOtherDataDisksThanSpec(t *testing.T) {
	spec := func(data ...v1alpha1.DataDisk) v1alpha1.VmGroupSpec {
		return v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "t", Disks: &v1alpha1.Disks{Data: data}}
	}
	disk := func(name string, sizeGiB int32, p v1alpha1.Provisioning) v1alpha1.DataDisk {
		return v1alpha1.DataDisk{Name: name, SizeGiB: sizeGiB, Provisioning: p}
	}
	a := func(sizeGiB int32, p v1alpha1.Provisioning) v1alpha1.DataDisk { return disk("a", sizeGiB, p) }
	b := func(sizeGiB int32) v1alpha1.DataDisk { return disk("b", sizeGiB, "") }
	for story, c := range map[string]struct {
		was, now v1alpha1.VmGroupSpec
		list     vsphere.DataDisks
		is       bool
	}{
		"of another size":                   {spec(a(5, "Thin")), spec(a(9, "Thin")), "v1;a:2001:5", true},
		"as in spec, and larger since":      {spec(a(5, "Thin")), spec(a(5, "Thin")), "v1;a:2001:9", true},
		"one that spec does not name":       {spec(a(5, "")), spec(), "v1;a:2001:5", true},
		"none":                              {spec(), spec(a(5, "")), "", true},
		"one that an earlier spec named":    {spec(), spec(a(5, "")), "v1;old:2001:5", true},
		"another provisioning, not in spec": {spec(a(5, "Thin")), spec(), "v1;a:2001:5", true},
		"another provisioning than in spec": {spec(a(5, "Thick")), spec(a(5, "Thin")), "v1;a:2001:5", true},
		"one larger since, one of its size": {spec(a(5, ""), b(3)), spec(a(5, ""), b(9)), "v1;a:2001:8,b:2002:3", true},
		"one in spec, one removed before":   {spec(a(5, "Thin")), spec(b(9)), "v1;a:2001:5,b:2002:3", true},
		"one not in spec, larger since":     {spec(a(5, "")), spec(), "v1;a:2001:6", false},
		"another template beside the disk":  {v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "u", Disks: spec(a(5, "")).Disks}, spec(), "v1;a:2001:5", false},
		"four, all thin, not in spec":       {spec(a(5, "Thin"), disk("c", 1, "Thin"), disk("d", 2, "Thin"), disk("e", 3, "Thin")), spec(), "v1;a:1:5,c:2:1,d:3:2,e:4:3", true},
		"four, of which spec names two":     {spec(a(5, ""), b(3), disk("d", 2, "Thick"), disk("e", 3, "Thick")), spec(a(9, ""), b(4)), "v1;a:1:5,b:2:3,d:3:2,e:4:3", true},
		"four, thin and thick, not in spec": {spec(a(5, "Thin"), disk("c", 1, ""), disk("d", 2, ""), disk("e", 3, "")), spec(), "v1;a:1:5,c:2:1,d:3:2,e:4:3", false},
		"a malformed list":                  {spec(a(5, "")), spec(), "v2;a", false},
	} {
		vm := &vsphere.VM{CPU: 1, MemoryMiB: 1024, DataDisks: c.list, Stamp: &vsphere.Stamp{Revision: plan.Revision(c.was)}}
		if shape, is := shownBy(vm, plan.ShapeOf(c.now)); is != c.is || is && !c.was.HasShape(shape.VMShape) {
			t.Errorf("%s: %+v, %t", story, shape, is)
		}
	}
}

// A VM that is replaced never has the disks of both specs.
func TestAVMThatIsReplacedDoesNotCountWithTheDataDisksOfBothSpecs(t *testing.T) {
	for template, want := range map[string]int64{"t": 2 * (10 + 5 + 7), "other": 2 * (10 + 7)} {
		s := edited()
		was := v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "t", Replicas: ptr.To[int32](2), Disks: disks(10)}
		was.Disks.Data = []v1alpha1.DataDisk{{Name: "a", SizeGiB: 5}}
		s.Group.Spec = was
		s.Group.Spec.Template, s.Group.Spec.Disks = template, disks(10)
		s.Group.Spec.Disks.Data = []v1alpha1.DataDisk{{Name: "b", SizeGiB: 7}}
		shape := plan.ShapeOf(was)
		s.Group.Status.Revisions = []v1alpha1.Revision{shape}
		o := s.Observation
		o.VMs = o.VMs[:2]
		for i := range o.VMs {
			o.VMs[i].RootDiskGiB, o.VMs[i].DataDisks = 10, "v1;a:2001:5"
			o.VMs[i].Stamp = new(*o.VMs[i].Stamp)
			o.VMs[i].Stamp.Revision = shape.Revision
		}
		s.Group.Status.VMs = nil
		s.See(o)
		if got := s.counted(&s.Group.Spec).Storage; got != want {
			t.Errorf("with template %s, %d GiB count, want %d", template, got, want)
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
	if z := s.described(0); z.root != 80 || !z.unknown() {
		t.Errorf("it counts with %+v", z)
	}
}
