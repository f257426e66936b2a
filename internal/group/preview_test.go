package group

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// An API server raises the generation before it calls webhooks, so the previewed edit looks like a stored one.
func TestAPreviewLeavesTheStepsOfAnUpdateOut(t *testing.T) {
	replicas := func(n int32) func(*v1alpha1.VmGroupSpec) {
		return func(s *v1alpha1.VmGroupSpec) { s.Replicas = ptr.To(n) }
	}
	oneLess := func(s *v1alpha1.VmGroupSpec) {
		s.UpdateStrategy = &v1alpha1.UpdateStrategy{MaxSurge: ptr.To(intstr.FromInt32(0)), MaxUnavailable: ptr.To(intstr.FromInt32(1))}
	}
	for story, c := range map[string]struct {
		changes []func(*v1alpha1.VmGroupSpec)
		creates int
		doomed  []int32
	}{
		"one more first":        {nil, 0, nil},
		"one less first":        {[]func(*v1alpha1.VmGroupSpec){oneLess}, 0, nil},
		"more VMs":              {[]func(*v1alpha1.VmGroupSpec){oneLess, replicas(5)}, 2, nil},
		"fewer VMs":             {[]func(*v1alpha1.VmGroupSpec){replicas(1)}, 0, []int32{1, 2}},
		"fewer, one less first": {[]func(*v1alpha1.VmGroupSpec){replicas(1), oneLess}, 0, []int32{1, 2}},
	} {
		s := edited(c.changes...)
		s.Group.Status.DesiredReplicas, s.Old = 3, []OldShape{{Recorded: s.Group.Status.Revisions[0]}}
		asked := s.Group.Spec.DeepCopy()
		p := s.Preview()
		if !p.Known || p.Plan.Creates() != c.creates || !slices.Equal(p.Plan.Doomed, c.doomed) {
			t.Errorf("%s: %v leave, and it does %+v", story, p.Plan.Doomed, p.Plan.Actions)
		}
		if !p.Update.Known || p.Update.Replaced != 3-len(c.doomed) {
			t.Errorf("%s: foretold is %+v", story, p.Update)
		}
		if (s.Group.Spec.UpdateStrategy == nil) != (asked.UpdateStrategy == nil) {
			t.Errorf("%s: spec.updateStrategy is %+v afterwards", story, s.Group.Spec.UpdateStrategy)
		}
	}
}

// TestAPreviewOfAScaleToZeroNamesTheVMs: the operator waits some seconds before it removes all VMs of a group, and a forecast without them looked as if the edit did nothing.
func TestAPreviewOfAScaleToZeroNamesTheVMs(t *testing.T) {
	s := edited(func(s *v1alpha1.VmGroupSpec) { s.Replicas = ptr.To[int32](0) })
	s.MassDeletion = MassDeletion{Rules: massdeletion.DefaultRules(), Limit: massdeletion.Limit{}}
	s.Group.CreationTimestamp = metav1.NewTime(s.Now.Add(-24 * time.Hour))
	s.Now = s.Now.Add(300 * time.Millisecond)
	s.Group.Status.DesiredReplicas = 3
	s.See(s.Observation)
	if hold, _ := s.removal(); hold == nil {
		t.Fatal("the removal does not wait, so the test shows nothing")
	}
	if p := s.Preview(); !slices.Equal(p.Plan.Doomed, []int32{0, 1, 2}) {
		t.Errorf("%v leave, held %+v", p.Plan.Doomed, p.Plan.Held)
	}
}

// A revert of an edit that also wants fewer VMs removes those that the edit had added.
func TestAPreviewOfAnUndoSaysWhoLeaves(t *testing.T) {
	s := edited(func(s *v1alpha1.VmGroupSpec) {
		s.Template, s.Replicas, s.ScaleDown = "debian", ptr.To[int32](2), &v1alpha1.ScaleDown{Order: v1alpha1.ScaleDownOldest}
	})
	other := s.Group.Spec
	other.Template = "debian-13"
	s.Group.Status.Rollout = &v1alpha1.Rollout{Revision: plan.Revision(other), From: []string{s.Revision}}
	s.Group.Status.DesiredReplicas, s.Group.Status.VMs[2].Revision, s.Observation.VMs[2].Stamp.Revision = 3, plan.Revision(other), plan.Revision(other)
	s.See(s.Observation)
	if p := s.Preview(); !slices.Equal(p.Plan.Doomed, []int32{2}) {
		t.Errorf("%v leave", p.Plan.Doomed)
	}
}

// Obstacles to cloning are reported even if only an update would clone.
func TestAPreviewSaysWhatIsInTheWayOfAnUpdate(t *testing.T) {
	s := edited()
	s.Names.Blocked = &plan.Blocker{Reason: v1alpha1.ReasonNotATemplate, Message: "debian-13 is no template.", Terminal: true}
	p := s.Preview()
	if !slices.ContainsFunc(p.Plan.Blockers, func(b plan.Blocker) bool { return b.Reason == v1alpha1.ReasonNotATemplate }) {
		t.Errorf("the blockers are %+v", p.Plan.Blockers)
	}
}

// A resumed update changes the VMs that it concerns, and no others that differ from spec.
func TestAPreviewOfTheSameRevisionCountsWhomItsUpdateConcerns(t *testing.T) {
	for story, c := range map[string]struct {
		change           func(*Snapshot, *v1alpha1.Rollout)
		replaced, failed int
	}{
		"the update continues":      {func(*Snapshot, *v1alpha1.Rollout) {}, 2, 2},
		"it has ended":              {func(_ *Snapshot, r *v1alpha1.Rollout) { r.From = nil }, 0, 2},
		"another revision is asked": {func(_ *Snapshot, r *v1alpha1.Rollout) { r.Revision = "1-other" }, 3, 0},
		"an older version saw it all": {func(s *Snapshot, r *v1alpha1.Rollout) {
			r.Revision, s.Group.Status.UpdateRevision = "1-other", s.Revision
		}, 0, 0},
	} {
		s := edited()
		r := s.Group.Status.Rollout
		r.Revision, r.From, r.Failed = s.Revision, []string{s.Group.Status.VMs[0].Revision}, []string{"a", "b"}
		s.Observation.VMs[2].Stamp.Revision = "1-restored"
		c.change(s, r)
		s.See(s.Observation)
		p := s.Preview().Update
		if p.Replaced != c.replaced || p.Failed != c.failed || !p.Known {
			t.Errorf("%s: foretold is %+v", story, p)
		}
	}
}

// An edit that does not worsen a policy violation passes admission and is held. The forecast of its
// update differs from that of a new update.
func TestAPreviewOfAHeldGroupSaysThatItIsHeld(t *testing.T) {
	tooMuch := []policy.Violation{{Field: "spec.cpu", Value: int32(2), Detail: "exceeds the maximum 1", Rule: policy.RuleCPUMaximum, Enforced: true}}
	tooFew := []policy.Violation{{Field: "spec.replicas", Value: int32(3), Detail: "is below the minimum 5", Rule: policy.RuleReplicasMinimum, Enforced: true}}
	for story, c := range map[string]struct {
		violations []policy.Violation
		held       bool
	}{"allowed": {}, "too large": {tooMuch, true}, "below a minimum, which holds for new groups": {tooFew, false}} {
		s := edited()
		s.Admitted = &v1alpha1.Admitted{Revision: "1-was", Replicas: 3, VMShape: v1alpha1.VMShape{CPU: s.Group.Spec.CPU, Memory: s.Group.Spec.Memory, Template: "debian-12"}}
		s.Violations = c.violations
		p := s.Preview()
		if p.Update.VMs() == 0 || (p.Held != nil) != c.held {
			t.Errorf("%s: held is %+v, and the update is of %d VMs", story, p.Held, p.Update.VMs())
		}
	}
}

// A user who edits a held group is informed of that, even if there is no message about VMs.
func TestAPreviewSaysWhatIsNotDoneWhateverIsKnownOfVMs(t *testing.T) {
	tooMuch := []policy.Violation{{Field: "spec.cpu", Value: int32(2), Detail: "exceeds the maximum 1", Rule: policy.RuleCPUMaximum, Enforced: true}}
	denied := []policy.Denial{{Field: "spec.placement.datastore", Message: "is not granted"}}
	for story, c := range map[string]struct {
		change func(*Snapshot)
		want   bool
	}{
		"allowed":                       {func(*Snapshot) {}, false},
		"policy":                        {func(s *Snapshot) { s.Violations = tooMuch }, true},
		"grant":                         {func(s *Snapshot) { s.Names.Denials = denied }, true},
		"grant, nothing known of VMs":   {func(s *Snapshot) { s.Names.Denials, s.Observation.Complete = denied, false }, true},
		"policy, nothing known of VMs":  {func(s *Snapshot) { s.Violations, s.Observation.Complete = tooMuch, false }, true},
		"policy, nothing was admitted":  {func(s *Snapshot) { s.Violations, s.Admitted = tooMuch, nil }, true},
		"policy, admitted as it is":     {func(s *Snapshot) { s.Violations, s.Admitted.Template = tooMuch, s.Group.Spec.Template }, false},
		"VMs stand as spec says by now": {func(s *Snapshot) { s.Violations = tooMuch; stamped(s, s.Revision) }, false},
	} {
		s := edited()
		s.Admitted = &v1alpha1.Admitted{Revision: "1-was", Replicas: 3, VMShape: v1alpha1.VMShape{CPU: s.Group.Spec.CPU, Memory: s.Group.Spec.Memory, Template: "debian-12"}}
		c.change(s)
		if p := s.Preview(); p.NotDone != c.want {
			t.Errorf("%s: not done is %t, want %t", story, p.NotDone, c.want)
		}
	}
}

// stamped gives all VMs a revision.
func stamped(s *Snapshot, revision string) {
	for i := range s.Observation.VMs {
		s.Observation.VMs[i].Stamp.Revision = revision
	}
}
