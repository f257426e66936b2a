package group

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// undone is a group of three VMs during an admitted update to debian-13. This number of VMs was updated when spec was
// reverted to the state of the others, which is not allowed any more.
func undone(updated int) (s *Snapshot, was, next string) {
	s = edited()
	target := plan.ShapeOf(s.Group.Spec)
	was, next = s.Group.Status.Revisions[0].Revision, target.Revision
	s.Admitted = &v1alpha1.Admitted{Revision: next, Replicas: 3, VMShape: v1alpha1.VMShape{CPU: 1, Memory: 1, Template: "debian-13"}}
	status := &s.Group.Status
	status.Admitted, status.ObservedGeneration = s.Admitted, 2
	status.Revisions = append(status.Revisions, target)
	status.Rollout = &v1alpha1.Rollout{Revision: next, From: []string{was}}
	for i := range updated {
		status.VMs[i].Revision, s.Observation.VMs[i].Stamp.Revision = next, next
	}
	s.Group.Generation, s.Group.Spec.Template, s.Revision = 3, "debian", was
	s.Violations = []policy.Violation{{Field: "spec.template", Value: "debian", Detail: "is denied", Rule: policy.RuleTemplateDenied, Enforced: true}}
	s.Old = []OldShape{{Recorded: target, Shape: Shape{Spec: plan.Apply(target, s.Group.Spec), Names: s.Names}}}
	s.AdmittedNames = s.Names
	s.See(s.Observation)
	return s, was, next
}

// lose removes a VM from vCenter.
func lose(s *Snapshot, at int) {
	s.Observation.VMs = append(s.Observation.VMs[:at:at], s.Observation.VMs[at+1:]...)
	s.Observation.Gone = append(s.Observation.Gone, vsphere.VMRef(s.Group.Status.VMs[at].MoRef))
	s.See(s.Observation)
}

// creates are the revisions of the VMs that a plan clones.
func creates(p *plan.Plan) (revisions []string) {
	for _, a := range p.Actions {
		if a.Kind == plan.CreateVM {
			revisions = append(revisions, a.Revision)
		}
	}
	return revisions
}

func TestAnUndoToWhatIsForbiddenClonesNothingOfIt(t *testing.T) {
	for story, c := range map[string]struct {
		updated int
		change  func(*Snapshot)
		// creates reports whether a VM of the admitted revision is cloned; phase and reason are those of the group and
		// of PolicyCompliant.
		creates bool
		phase   v1alpha1.Phase
		reason  string
		says    string
	}{
		"half-way":                {1, nil, false, v1alpha1.PhaseError, v1alpha1.ReasonPolicyViolated, "which 2 VMs have still"},
		"and one of them is lost": {1, func(s *Snapshot) { lose(s, 2) }, false, v1alpha1.PhaseError, v1alpha1.ReasonPolicyViolated, "which 1 VM has still"},
		"and one is lost where people replace VMs": {1, func(s *Snapshot) {
			s.Group.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{Type: v1alpha1.UpdateOnDelete}
			lose(s, 2)
		}, false, v1alpha1.PhaseError, v1alpha1.ReasonPolicyViolated, "which 1 VM has still"},
		"and an updated one is lost":   {1, func(s *Snapshot) { lose(s, 0) }, true, v1alpha1.PhaseError, v1alpha1.ReasonPolicyViolated, "which 2 VMs have still"},
		"before one was updated":       {0, nil, false, v1alpha1.PhaseRunning, v1alpha1.ReasonPolicyTightened, "which 3 VMs have: they are kept"},
		"before that, and one is lost": {0, func(s *Snapshot) { lose(s, 1) }, false, v1alpha1.PhaseError, v1alpha1.ReasonPolicyViolated, "which 2 VMs have still"},
		"with as many as there are of it": {1, func(s *Snapshot) {
			s.Group.Spec.Replicas = new(int32(2))
		}, false, v1alpha1.PhasePending, v1alpha1.ReasonPolicyTightened, "which 2 VMs have: they are kept"},
		"and its grant is deleted": {0, func(s *Snapshot) {
			s.Violations, s.Names.Denials = nil, []policy.Denial{{Field: "spec.template", Message: "not yours"}}
		}, false, v1alpha1.PhaseRunning, v1alpha1.ReasonNotGranted, "which 3 VMs have: they are kept"},
		"and the quota is full": {0, func(s *Snapshot) {
			s.Quota.Violations, s.Violations = s.Violations, nil
		}, false, v1alpha1.PhaseRunning, v1alpha1.ReasonPolicyTightened, "which 3 VMs have: they are kept"},
	} {
		t.Run(story, func(t *testing.T) {
			s, was, next := undone(c.updated)
			if c.change != nil {
				c.change(s)
			}
			d := Decide(s)
			if d.Step != Act || d.Status == nil {
				t.Fatalf("decided %+v", d)
			}
			got := creates(&d.Plan)
			if c.creates != (len(got) == 1 && got[0] == next) || !c.creates && len(got) > 0 {
				t.Errorf("clones of revisions %q, want one of %s: %v", got, next, c.creates)
			}
			if len(d.Plan.Doomed) > 0 {
				t.Errorf("removes %v", d.Plan.Doomed)
			}
			condition := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionPolicyCompliant)
			if condition.Reason != c.reason || condition.Status != "False" || d.Status.Phase != c.phase {
				t.Errorf("phase %s, PolicyCompliant is %+v", d.Status.Phase, condition)
			}
			for _, want := range []string{c.says, was, next} {
				if !strings.Contains(condition.Message, want) {
					t.Errorf("%q is not in %q", want, condition.Message)
				}
			}
		})
	}
}

// pass decides, and records the result for the next pass.
func pass(t *testing.T, s *Snapshot) Decision {
	t.Helper()
	d := Decide(s)
	if d.Step != Act {
		t.Fatalf("decided %+v", d)
	}
	if d.Status != nil {
		s.Group.Status = *d.Status
	}
	s.Admitted = s.Group.Status.Admitted
	return d
}

// A withdrawn revision does not return automatically, however long ago that was.
func TestWhatIsLostAfterAnUndoHasSettledStaysAway(t *testing.T) {
	for story, change := range map[string]func(*Snapshot){
		"all is known":        func(s *Snapshot) { lose(s, 2) },
		"policies are unread": func(s *Snapshot) { s.Violations, s.PoliciesUnread = nil, "The hub is unreachable"; lose(s, 2) },
		"people replace VMs": func(s *Snapshot) {
			s.Group.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{Type: v1alpha1.UpdateOnDelete}
			lose(s, 2)
		},
		"status is wiped then": func(s *Snapshot) { s.Group.Status.Rollout, s.Group.Status.Revisions = nil, nil; lose(s, 2) },
		"status forgot the VM": func(s *Snapshot) {
			s.Group.Status.Rollout, s.Group.Status.Revisions, s.Group.Status.VMs = nil, nil, nil
			s.Observation.VMs = s.Observation.VMs[:2]
			s.See(s.Observation)
		},
	} {
		t.Run(story, func(t *testing.T) {
			s, was, next := undone(0)
			pass(t, s)
			if r := s.Group.Status.Rollout; r == nil || r.Revision != was || len(r.From) > 0 || s.Admitted.Revision != next {
				t.Fatalf("recorded are %+v and %+v", r, s.Admitted)
			}
			change(s)
			for range 3 {
				d := pass(t, s)
				if got := creates(&d.Plan); len(got) > 0 {
					t.Fatalf("clones of revisions %q", got)
				}
				if len(d.Plan.Blockers) == 0 {
					t.Error("the plan has no blocker")
				}
			}
		})
	}
}

// An undo during an update leaves surplus VMs, and reports them. They leave once spec is allowed.
func TestAnUndoSaysHowManyMoreVMsStay(t *testing.T) {
	s, _, _ := undone(1)
	s.Group.Spec.Replicas, s.Group.Status.DesiredReplicas = new(int32(2)), 2
	d := pass(t, s)
	if len(d.Plan.Doomed) > 0 || d.Plan.Existing != 3 {
		t.Fatalf("planned %+v", d.Plan)
	}
	want := "Until then the group has 1 VM more than spec.replicas (2), from the update that was under way: set spec to what is allowed, or have it allowed."
	for _, condition := range []string{v1alpha1.ConditionUpToDate, v1alpha1.ConditionReady} {
		if c := meta.FindStatusCondition(s.Group.Status.Conditions, condition); c == nil || !strings.Contains(c.Message, want) {
			t.Errorf("%s is %+v", condition, c)
		}
	}
	s.Violations = nil
	if d = pass(t, s); len(d.Plan.Doomed) != 1 || d.Plan.Doomed[0] != 0 {
		t.Errorf("allowed again, and removes %v", d.Plan.Doomed)
	}
	if c := meta.FindStatusCondition(s.Group.Status.Conditions, v1alpha1.ConditionUpToDate); strings.Contains(c.Message, "Until then") {
		t.Errorf("UpToDate is %+v", c)
	}
}

// A status that claims that VMs have the forbidden shape grants nothing, and counts only while vCenter is not visible.
func TestWhatStandsIsWhatVCenterSays(t *testing.T) {
	s, was, _ := undone(3)
	for i := range s.Group.Status.VMs {
		s.Group.Status.VMs[i].Revision = was
	}
	if n := s.standing(); n != 0 {
		t.Errorf("%d VMs stand because status says so", n)
	}
	s.Names.Denials = []policy.Denial{{Field: "spec.template"}}
	if p := s.Preview(); p.Standing != 0 || len(p.Denials) == 0 {
		t.Errorf("Standing of the preview is %d, want 0, with denials", p.Standing)
	}
	s.Observation.Complete = false
	s.Group.Status.VMs[0].Phase, s.Group.Status.VMs[1].MoRef = v1alpha1.VMLost, ""
	if n := s.standing(); n != 1 {
		t.Errorf("vCenter is not seen, and %d VMs stand, want 1", n)
	}
	s, _, _ = undone(1)
	s.Names.Denials = []policy.Denial{{Field: "spec.template"}}
	if p := s.Preview(); p.Standing != 2 {
		t.Errorf("Standing of the preview is %d, want 2, although the inventory is not granted", p.Standing)
	}
	s, _, _ = undone(0)
	s.Names.Denials, s.Group.Spec.Replicas, s.Group.Status.DesiredReplicas = []policy.Denial{{Field: "spec.template"}}, new(int32(1)), 3
	if p := s.Preview(); len(p.Plan.Doomed) != 2 || len(p.Plan.VMs) != 3 || p.Known || len(p.Plan.Blockers) > 0 {
		t.Errorf("preview of an undo that shrinks, and is not granted: %+v", p)
	}
	s, _, _ = undone(0)
	s.Observation.VMs[0].Tombstone = true
	s.Group.Status.Deleting = []int32{1}
	s.Observation.VMs = append(s.Observation.VMs, s.Observation.VMs[2]) // a copy
	if n := s.standing(); n != 1 {
		t.Errorf("%d VMs stand: one of three is on its way out, and one was chosen to leave", n)
	}
}
