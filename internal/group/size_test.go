package group

import (
	"math"
	"runtime"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestVMsCountAsLargeAsTheyAre(t *testing.T) {
	id := vsphere.GroupID{Member: "m", Group: "g"}
	vm := func(ordinal, cpu int32, memory int64) vsphere.VM {
		return vsphere.VM{CPU: cpu, MemoryMiB: memory, Stamp: &vsphere.Stamp{GroupID: id, Ordinal: ordinal}}
	}
	leaves, foreign, othersUID := vm(7, 8, 1024), vm(1, 64, 1024), vm(1, 64, 1024)
	leaves.Tombstone, foreign.Stamp = true, nil
	othersUID.Stamp.Member = "another"
	large := []vsphere.VM{vm(0, 4, 4096), vm(1, 4, 4097)}
	for story, c := range map[string]struct {
		replicas     int32 // of one CPU and 2 GiB, as admitted
		vms          []vsphere.VM
		clones       []int32
		taken, wants policy.Usage
	}{
		"nothing exists":        {2, nil, nil, policy.Usage{}, policy.Usage{Groups: 1, VMs: 2, CPU: 2, Memory: 4}},
		"made large, then less": {2, large, nil, policy.Usage{Groups: 1, VMs: 2, CPU: 8, Memory: 9}, policy.Usage{Groups: 1, VMs: 2, CPU: 8, Memory: 9}},
		"and more of them":      {4, large, nil, policy.Usage{Groups: 1, VMs: 2, CPU: 8, Memory: 9}, policy.Usage{Groups: 1, VMs: 4, CPU: 10, Memory: 13}},
		"and fewer of them":     {1, large, nil, policy.Usage{Groups: 1, VMs: 2, CPU: 8, Memory: 9}, policy.Usage{Groups: 1, VMs: 1, CPU: 4, Memory: 5}},
		"none of them":          {0, large, nil, policy.Usage{Groups: 1, VMs: 2, CPU: 8, Memory: 9}, policy.Usage{Groups: 1}},
		"smaller than admitted": {1, []vsphere.VM{vm(0, 1, 1024)}, nil, policy.Usage{Groups: 1, VMs: 1, CPU: 1, Memory: 2}, policy.Usage{Groups: 1, VMs: 1, CPU: 1, Memory: 2}},
		"one is being cloned":   {2, []vsphere.VM{vm(0, 1, 2048)}, []int32{1}, policy.Usage{Groups: 1, VMs: 2, CPU: 2, Memory: 4}, policy.Usage{Groups: 1, VMs: 2, CPU: 2, Memory: 4}},
		"one leaves":            {1, []vsphere.VM{vm(0, 1, 2048), leaves}, nil, policy.Usage{Groups: 1, VMs: 2, CPU: 9, Memory: 3}, policy.Usage{Groups: 1, VMs: 2, CPU: 9, Memory: 3}},
		"a copy":                {1, []vsphere.VM{vm(0, 1, 2048), vm(0, 1, 2048)}, nil, policy.Usage{Groups: 1, VMs: 1, CPU: 1, Memory: 2}, policy.Usage{Groups: 1, VMs: 1, CPU: 1, Memory: 2}},
		"others' VMs":           {1, []vsphere.VM{foreign, othersUID}, nil, policy.Usage{}, policy.Usage{Groups: 1, VMs: 1, CPU: 1, Memory: 2}},
	} {
		s := &Snapshot{ID: id, Group: &v1alpha1.VmGroup{Spec: v1alpha1.VmGroupSpec{CPU: 1, Memory: 2, Template: "t", Replicas: ptr.To(c.replicas)}}}
		o := vsphere.Observation{Complete: true, VMs: c.vms}
		for _, ordinal := range c.clones {
			o.InFlight = append(o.InFlight, vsphere.Operation{Kind: vsphere.OpClone, Ordinal: ordinal})
		}
		s.See(o)
		if got := s.taken(); got != c.taken {
			t.Errorf("%s: it takes %+v, want %+v", story, got, c.taken)
		}
		if got := s.wants(); got != c.wants {
			t.Errorf("%s: it wants %+v, want %+v", story, got, c.wants)
		}
	}
}

// Spec was edited to a larger size and back, and vCenter still carries out the first edit.
func TestAVMThatIsBeingEnlargedCountsWithTheSizeThatItGets(t *testing.T) {
	s := edited(func(spec *v1alpha1.VmGroupSpec) { spec.CPU = 4 })
	large := plan.ShapeOf(s.Group.Spec)
	s.Group.Status.Rollout = &v1alpha1.Rollout{Revision: large.Revision}
	s.Group.Status.Revisions = append(s.Group.Status.Revisions, large)
	s.Group.Spec.CPU = 1
	o := s.Observation
	o.InFlight = []vsphere.Operation{{Kind: vsphere.OpReconfigure, Ordinal: 1}}
	s.See(o)
	if got := s.taken().CPU; got != 1+4+1 {
		t.Errorf("the VMs take %d CPUs", got)
	}
}

func TestAnUpdateClaimsTheSizeInSpecForTheSuccessorsOfLeavingVMs(t *testing.T) {
	s := edited(func(spec *v1alpha1.VmGroupSpec) {
		spec.CPU, spec.UpdateStrategy = 4, &v1alpha1.UpdateStrategy{Type: v1alpha1.UpdateOnDelete}
	})
	s.Group.Status.Deleting = []int32{2}
	o := s.Observation
	o.VMs[2].Tombstone = true
	s.See(o)
	if got := s.wants().CPU; got != 3*4 {
		t.Errorf("the group claims %d CPUs", got)
	}
}

func TestNothingIsGivenBackWhileNobodyKnowsHowLargeVMsAre(t *testing.T) {
	s := &Snapshot{Group: &v1alpha1.VmGroup{Spec: v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "t"}}}
	s.Admitted = &v1alpha1.Admitted{Replicas: 1, VMShape: v1alpha1.VMShape{CPU: 1, Memory: 1, Template: "t"}}
	for _, complete := range []bool{true, false} {
		s.See(vsphere.Observation{Complete: complete})
		if q := s.quotaQuestion(s.wants(), true); q.Returns != complete {
			t.Errorf("the observation is complete %v, and something is given back %v", complete, q.Returns)
		}
	}
	s.See(vsphere.Observation{Complete: true, VMs: []vsphere.VM{{CPU: 8, MemoryMiB: 1024, Stamp: &vsphere.Stamp{}}}})
	if q := s.quotaQuestion(s.wants(), true); q.Occupies.CPU != 8 || q.Holds.CPU != 8 {
		t.Errorf("of 8 CPUs it occupies %d and holds %d", q.Occupies.CPU, q.Holds.CPU)
	}
}

// TestNothingIsGivenBackWhileAVMOfUnknownSizeIsCloned: status was wiped during the clone. The next
// pass writes a guess without an instance UUID.
func TestNothingIsGivenBackWhileAVMOfUnknownSizeIsCloned(t *testing.T) {
	shape := plan.ShapeOf(v1alpha1.VmGroupSpec{CPU: 2, Memory: 2, Template: "t"})
	clone := vsphere.Observation{Complete: true, InFlight: []vsphere.Operation{{Kind: vsphere.OpClone}}}
	vm := v1alpha1.VMStatus{UUID: "4c4c4544-0000-4000-8000-000000000001", Phase: v1alpha1.VMCloning, Revision: shape.Revision}
	guess := vm
	guess.UUID = ""
	for story, c := range map[string]struct {
		vms     []v1alpha1.VMStatus
		seen    vsphere.Observation
		returns bool
	}{
		"status has its size":    {[]v1alpha1.VMStatus{vm}, clone, true},
		"status was wiped":       {nil, clone, false},
		"status has a guess":     {[]v1alpha1.VMStatus{guess}, clone, false},
		"no VM is being cloned":  {nil, vsphere.Observation{Complete: true}, true},
		"vCenter shows the VM":   {nil, vsphere.Observation{Complete: true, InFlight: clone.InFlight, VMs: []vsphere.VM{{CPU: 1, Stamp: &vsphere.Stamp{}}}}, true},
		"another operation runs": {nil, vsphere.Observation{Complete: true, InFlight: []vsphere.Operation{{Kind: vsphere.OpMark}}}, true},
	} {
		s := &Snapshot{Group: &v1alpha1.VmGroup{Spec: v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "t"}}}
		s.Group.Status.VMs, s.Group.Status.Revisions = c.vms, []v1alpha1.Revision{shape}
		s.Admitted = &v1alpha1.Admitted{Replicas: 1, VMShape: v1alpha1.VMShape{CPU: 1, Memory: 1, Template: "t"}}
		s.See(c.seen)
		if q := s.quotaQuestion(s.wants(), true); q.Returns != c.returns {
			t.Errorf("%s: something is given back: %v", story, q.Returns)
		}
	}
}

func TestReplicasThatAnAPIServerMadeUpCostNoMemory(t *testing.T) {
	s := &Snapshot{Group: &v1alpha1.VmGroup{Spec: v1alpha1.VmGroupSpec{CPU: math.MaxInt32, Memory: 1, Template: "t", Replicas: ptr.To[int32](math.MaxInt32)}}}
	s.See(vsphere.Observation{Complete: true})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	wants := s.wants()
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 1<<20 || wants != policy.UsageOf(s.Group.Spec) {
		t.Errorf("%d bytes were taken to find out that it wants %+v", bytes, wants)
	}
}
