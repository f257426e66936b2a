package group

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestVMsThatLeaveCountUntilTheyAreGone(t *testing.T) {
	group := &v1alpha1.VmGroup{Spec: v1alpha1.VmGroupSpec{CPU: 8, Memory: 8, Template: "t", Replicas: ptr.To[int32](1)}}
	group.Status.Admitted = &v1alpha1.Admitted{Revision: "r", Replicas: 1, VMShape: v1alpha1.VMShape{CPU: 2, Memory: 3, Template: "t"}}
	for vms, want := range map[int]policy.Usage{
		0: {Groups: 1, VMs: 1, CPU: 2, Memory: 3},
		1: {Groups: 1, VMs: 1, CPU: 2, Memory: 3},
		4: {Groups: 1, VMs: 4, CPU: 8, Memory: 12},
	} {
		group.Status.VMs = make([]v1alpha1.VMStatus, vms)
		if got := Occupies(group, *group.Status.Admitted); got != want {
			t.Errorf("with %d VMs it occupies %+v, want %+v", vms, got, want)
		}
	}
}

func TestAGroupThatNothingWasAdmittedOfShowsWhatExists(t *testing.T) {
	of := func(a *v1alpha1.Admitted) *v1alpha1.VmGroup {
		g := &v1alpha1.VmGroup{Spec: v1alpha1.VmGroupSpec{CPU: 8, Memory: 8, Template: "t", Replicas: ptr.To[int32](5)}}
		g.Status.Admitted = a
		return g
	}
	shapeless, shape := &v1alpha1.Admitted{Replicas: 1}, &v1alpha1.Admitted{Replicas: 1, VMShape: v1alpha1.VMShape{CPU: 1, Memory: 3, Template: "t"}}
	two, none := policy.Usage{Groups: 1, VMs: 2, CPU: 16, Memory: 16}, policy.Usage{}
	for story, c := range map[string]struct {
		group    *v1alpha1.VmGroup
		existing int32
		want     policy.Usage
	}{
		"nothing exists":              {of(nil), 0, none},
		"two exist":                   {of(nil), 2, two},
		"two exist, without a shape":  {of(shapeless), 2, two},
		"the smallest admitted shape": {of(shape), 2, policy.Usage{Groups: 1, VMs: 1, CPU: 1, Memory: 3}},
	} {
		c.group.Status.Replicas = c.existing
		if got := Shows(c.group); got != c.want {
			t.Errorf("%s: it shows %+v, want %+v", story, got, c.want)
		}
	}
}

func TestAGroupCountsOnWhatItWantsAndOnWhatItDoesNotDelete(t *testing.T) {
	of := func(replicas int32, recorded int, deleting ...int32) *v1alpha1.VmGroup {
		g := &v1alpha1.VmGroup{Spec: v1alpha1.VmGroupSpec{Replicas: &replicas}}
		for i := range recorded {
			g.Status.VMs = append(g.Status.VMs, v1alpha1.VMStatus{Ordinal: int32(i), MoRef: "vm-1"})
		}
		g.Status.Deleting = deleting
		return g
	}
	leaving := of(3, 3)
	leaving.DeletionTimestamp = &metav1.Time{}
	leaving.DeletionTimestamp.Time = time.Unix(1, 0)
	for story, c := range map[string]struct {
		group *v1alpha1.VmGroup
		want  int
	}{
		"it has what it wants":               {of(3, 3), 3},
		"its status was wiped":               {of(3, 0), 3},
		"it shrinks to nothing":              {of(0, 3, 0, 1, 2), 0},
		"it shrinks, and it is not recorded": {of(0, 3), 3},
		"it is being deleted":                {leaving, 0},
	} {
		if got := Expects(c.group); got != c.want {
			t.Errorf("%s: it counts on %d VMs, want %d", story, got, c.want)
		}
	}
}

func TestAGroupRecordsTheVMsThatAreToBeExplained(t *testing.T) {
	of := func(replicas int32, refs ...string) *v1alpha1.VmGroup {
		g := &v1alpha1.VmGroup{Spec: v1alpha1.VmGroupSpec{Replicas: &replicas}}
		for i, ref := range refs {
			g.Status.VMs = append(g.Status.VMs, v1alpha1.VMStatus{Ordinal: int32(i), MoRef: ref})
		}
		return g
	}
	replaced, leaving := of(2, "vm-1", "vm-2"), of(2, "vm-1", "vm-2")
	replaced.Status.Deleting = []int32{0, 1}
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	for story, c := range map[string]struct {
		group      *v1alpha1.VmGroup
		refs       int
		unrecorded bool
	}{
		"it has its VMs":                     {of(2, "vm-1", "vm-2"), 2, false},
		"its VMs are being replaced":         {replaced, 2, false},
		"one is still to be cloned":          {of(2, "vm-1", ""), 1, false},
		"it grows":                           {of(3, "vm-1"), 1, false},
		"its status was wiped, or it is new": {of(2), 0, true},
		"it wants none and has none":         {of(0), 0, false},
		"it is being deleted":                {leaving, 0, false},
	} {
		if refs, unrecorded := Recorded(c.group); len(refs) != c.refs || unrecorded != c.unrecorded {
			t.Errorf("%s: it has recorded %v, unrecorded: %t", story, refs, unrecorded)
		}
	}
}

// TestNothingIsGivenBackWhileAVMIsMissing: it is out of sight, and counts until vCenter has confirmed its deletion.
func TestNothingIsGivenBackWhileAVMIsMissing(t *testing.T) {
	s := edited()
	seen := s.Observation
	seen.VMs = seen.VMs[1:]
	for story, c := range map[string]struct {
		change  func(*vsphere.Observation)
		returns bool
	}{
		"it is not found":             {func(*vsphere.Observation) {}, false},
		"it was moved away":           {func(o *vsphere.Observation) { o.Elsewhere = []vsphere.Ref{vsphere.VMRef("vm-0")} }, false},
		"it is deleted":               {func(o *vsphere.Observation) { o.Gone = []vsphere.Ref{vsphere.VMRef("vm-0")} }, true},
		"it belongs to another group": {func(o *vsphere.Observation) { o.Others = []vsphere.Ref{vsphere.VMRef("vm-0")} }, true},
		"it was released before":      {func(o *vsphere.Observation) { o.Released = []vsphere.VM{{Ref: vsphere.VMRef("vm-0")}} }, true},
	} {
		o := seen
		c.change(&o)
		s.See(o)
		if q := s.quotaQuestion(policy.Usage{}, false); q.Returns != c.returns {
			t.Errorf("%s: gives back %v, want %v", story, q.Returns, c.returns)
		}
	}
}

// TestAVMThatIsBeingClonedCountsAsLargeAsItWillBe, although spec can ask for smaller ones by then.
func TestAVMThatIsBeingClonedCountsAsLargeAsItWillBe(t *testing.T) {
	s := edited()
	large := s.Group.Spec
	large.CPU, large.Memory = 8, 16
	shape := plan.ShapeOf(large)
	s.Group.Status.Revisions = append(s.Group.Status.Revisions, shape)
	s.Group.Status.VMs = append(s.Group.Status.VMs, v1alpha1.VMStatus{Name: "web-3", Ordinal: 3, UUID: "web-3", Revision: shape.Revision, Phase: v1alpha1.VMCloning})
	o := s.Observation
	o.InFlight = []vsphere.Operation{{Kind: vsphere.OpClone, Ordinal: 3}}
	s.See(o)
	if got, want := s.taken(), (policy.Usage{Groups: 1, VMs: 4, CPU: 3 + 8, Memory: 3 + 16}); got != want {
		t.Errorf("three VMs and a larger one take %+v, want %+v", got, want)
	}
}

// TestAnAdoptedVMThatIsOutOfSightCountsAsLargeAsItIs: its size is that of no spec.
func TestAnAdoptedVMThatIsOutOfSightCountsAsLargeAsItIs(t *testing.T) {
	s := edited()
	own := s.Group.Spec
	own.CPU = 8
	shape := plan.ShapeOf(own)
	s.Group.Status.AdoptedRevisions = []v1alpha1.Revision{shape}
	s.Group.Status.VMs[0].Revision = shape.Revision
	o := s.Observation
	o.VMs, o.Elsewhere = o.VMs[1:], []vsphere.Ref{vsphere.VMRef("vm-0")}
	s.See(o)
	for what, got := range map[string]policy.Usage{"wants": s.wants(), "shows": Shows(s.Group)} {
		if got.CPU != 8+1+1 {
			t.Errorf("a group with a VM of 8 CPUs out of sight %s %+v", what, got)
		}
	}
}

// TestAVMThatLeavesAndIsOutOfSightCounts: a user moved it, or vCenter has not confirmed its deletion.
func TestAVMThatLeavesAndIsOutOfSightCounts(t *testing.T) {
	s := edited()
	s.Group.Status.Deleting = []int32{0}
	o := s.Observation
	o.VMs, o.Elsewhere = o.VMs[1:], []vsphere.Ref{vsphere.VMRef("vm-0")}
	s.See(o)
	if got := s.taken(); got.VMs != 3 || got.CPU != 3 {
		t.Errorf("two VMs, and one that leaves, take %+v", got)
	}
	o.Elsewhere, o.Gone = nil, o.Elsewhere
	s.See(o)
	if got := s.taken(); got.VMs != 2 {
		t.Errorf("after the deletion of the third, two VMs take %+v", got)
	}
}

// A record from a backup can exceed the last admitted number and size.
func TestStatusCanOnlyLowerWhatARecordGrants(t *testing.T) {
	of := func(replicas, cpu int32) v1alpha1.Admitted {
		return v1alpha1.Admitted{Revision: "r", Replicas: replicas, VMShape: v1alpha1.VMShape{CPU: cpu, Memory: 1, Template: "t"}}
	}
	for story, c := range map[string]struct {
		shown *v1alpha1.Admitted
		want  policy.Usage
	}{
		"status shows the same":    {new(of(3, 4)), policy.Usage{Groups: 1, VMs: 3, CPU: 12, Memory: 3}},
		"status shows fewer VMs":   {new(of(1, 4)), policy.Usage{Groups: 1, VMs: 1, CPU: 4, Memory: 1}},
		"status shows smaller VMs": {new(of(3, 1)), policy.Usage{Groups: 1, VMs: 3, CPU: 3, Memory: 3}},
		"status shows more":        {new(of(9, 9)), policy.Usage{Groups: 1, VMs: 3, CPU: 12, Memory: 3}},
		"status was wiped":         {nil, policy.Usage{Groups: 1, VMs: 3, CPU: 12, Memory: 3}},
	} {
		s := &Snapshot{Group: &v1alpha1.VmGroup{Spec: v1alpha1.VmGroupSpec{CPU: 4, Memory: 1, Template: "t", Replicas: ptr.To[int32](3)}}}
		s.Group.Status.Admitted = c.shown
		s.Believe(Record{Admitted: new(of(3, 4))})
		if got := s.granted(); got != c.want {
			t.Errorf("%s: %+v is granted, want %+v", story, got, c.want)
		}
	}
}

// The record counts in the sums of other groups. If it were given back, each write of the ledger would enter it again
// while a paused group keeps a record from a backup.
func TestWhatIsOnRecordOfAPausedGroupIsNotGivenBack(t *testing.T) {
	record, shown := v1alpha1.Admitted{Replicas: 4, VMShape: v1alpha1.VMShape{CPU: 1, Memory: 1, Template: "t"}}, v1alpha1.Admitted{Replicas: 1, VMShape: v1alpha1.VMShape{CPU: 1, Memory: 1, Template: "t"}}
	s := &Snapshot{Group: &v1alpha1.VmGroup{Spec: v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "t"}}}
	s.Group.Status.Admitted = &shown
	s.Believe(Record{Admitted: &record})
	s.Observation.Complete = true
	for paused, want := range map[*plan.Blocker]int64{nil: 1, {Reason: v1alpha1.ReasonPaused}: 4} {
		s.Paused = paused
		if q := s.quotaQuestion(s.wants(), true); !q.Returns || q.Occupies.VMs != want || q.Granted.VMs != 1 {
			t.Errorf("paused %v, with one admitted VM, and four on record, it occupies %d, and %d are granted", paused != nil, q.Occupies.VMs, q.Granted.VMs)
		}
	}
}
