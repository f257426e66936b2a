package group

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// Preview is what the operator would make of a group.
type Preview struct {
	// VCenter is the name of the VCenter that the group uses.
	VCenter string
	// Denials are what grants and the MemberCluster refuse, also user data. While there are any, nothing else is said of the vCenter, and of Plan only
	// which VMs leave: who sets spec back to what VMs are may do so with fewer of them.
	Denials []policy.Denial
	// Standing is how many VMs have the revision of spec already: as vCenter says or, while that cannot be looked at, status.
	Standing int32
	// NotDone is true when policies or grants keep the operator from doing what spec asks for, so that what was admitted before holds on.
	NotDone bool
	// Known is false when the vCenter cannot be looked at or its inventory is not complete. Then Reason says why, as a
	// sentence that a team may read, and the fields below are empty.
	Known  bool
	Reason string
	// TemplatePath is the inventory path of spec.template; TemplateMissing is true when there is no such template.
	TemplatePath    string
	TemplateMissing bool
	// Plan is what the planner would do next, but for the steps of an update. Quotas are left out: they are granted to groups that exist.
	Plan plan.Plan
	// Update is what becomes of VMs that exist and are not as spec says.
	Update Foretold
	// Held is why policies or grants hold the update back, or nil.
	Held *plan.Blocker
}

// Preview says what a pass would do now for a group that has our finalizer, if each step on the way went well. It changes the snapshot.
func (s *Snapshot) Preview() Preview {
	s.Stranger, s.Definition, s.Quota, s.Written = false, &DefinitionAnswer{}, &QuotaAnswer{Granted: true, Surge: mostReplicas}, true
	p := Preview{VCenter: s.VCenter, Denials: s.Names.Denials, Standing: s.standing()}
	admission, d := s.admit()
	refused := d.Step == "" && admission.Status == metav1.ConditionFalse
	p.NotDone = refused && admission.Terminal
	if s.Group.Spec.UserDataSecretRef != nil && s.UserDataDenied {
		p.Denials = append(p.Denials, UserDataDenial(s.Member))
	}
	denied := len(p.Denials) > 0
	switch {
	case denied && (p.Standing == 0 || !s.Observation.Complete):
		return p
	case denied:
		all := s.atRest()
		p.Plan = plan.Plan{VMs: all.VMs, Doomed: all.Doomed}
		return p
	case !s.Observation.Complete:
		p.Reason = s.Observation.Incomplete
		return p
	}
	p.Known, p.TemplatePath, p.TemplateMissing = true, s.Names.Template.Path, s.Names.TemplateMissing
	blockers := s.planned().Blockers // an update may be what clones VMs
	p.Plan = s.atRest()
	p.Plan.Blockers = blockers
	p.Update = s.foretell(p.Plan.Doomed)
	if refused {
		p.Held = BlockerOf(admission)
	}
	return p
}

// atRest is the plan without the steps of an update: what becomes of the VMs in the end is foretold, and its first step is not all. Whether the edit that
// is previewed would begin one depends on who asks: an API server has raised the generation by then.
func (s *Snapshot) atRest() plan.Plan {
	resting := *s
	resting.Group = s.Group.DeepCopy()
	u := &resting.Group.Spec.UpdateStrategy
	if *u == nil {
		*u = &v1alpha1.UpdateStrategy{}
	}
	(*u).Paused = true
	return resting.planned()
}

// planned is the plan once each step before it went well.
func (s *Snapshot) planned() plan.Plan {
	for {
		d := Decide(s)
		switch d.Step {
		case MakeFolder:
			s.FolderMade = &Attempt{}
		case ReadUserData:
			s.UserData = map[string]*UserDataAnswer{}
			for _, name := range d.Secrets {
				s.UserData[name] = &UserDataAnswer{}
			}
		default:
			return d.Plan
		}
	}
}
