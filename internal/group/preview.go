package group

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// Preview is the expected result of the operator's work for a group.
type Preview struct {
	// VCenter is the name of the VCenter that the group uses.
	VCenter string
	// Denials are references that grants and the MemberCluster refuse, including user data. If there are any, the preview omits the vCenter, and Plan shows only the VMs that
	// leave: a user who sets spec back to the shape of existing VMs can do so with fewer of them.
	Denials []policy.Denial
	// Standing is the number of VMs with the revision of spec, according to vCenter or, while vCenter is unreachable, status.
	Standing int32
	// NotDone is true if policies or grants keep the operator from following spec, so that the admitted spec stays in effect.
	NotDone bool
	// Known is false if the vCenter cannot be read or its inventory is incomplete. Reason then explains this in a sentence for users, and the fields below are empty.
	Known  bool
	Reason string
	// TemplatePath is the inventory path of spec.template. TemplateMissing is true if the template does not exist.
	TemplatePath    string
	TemplateMissing bool
	// Plan is the next plan, without the steps of an update. It ignores quotas, which are granted to existing groups only.
	Plan plan.Plan
	// Update is the effect on existing VMs that do not match spec.
	Update Foretold
	// Held explains why policies or grants hold the update back, or is nil.
	Held *plan.Blocker
}

// Preview returns the result of a pass for a group with the operator's finalizer, if each step succeeds. It changes the snapshot.
func (s *Snapshot) Preview() Preview {
	s.Stranger, s.Definition, s.Quota, s.Written = false, &DefinitionAnswer{}, &QuotaAnswer{Granted: true, Surge: mostReplicas}, true
	s.MassDeletion.Rules.Wait = -time.Second // the wait only delays a removal of all VMs, whose time is rounded up to a second
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
	blockers := s.planned().Blockers // an update can be the cause of clones
	p.Plan = s.atRest()
	p.Plan.Blockers = blockers
	p.Update = s.foretell(p.Plan.Doomed)
	if refused {
		p.Held = BlockerOf(admission)
	}
	return p
}

// atRest returns the plan without the steps of an update: foretell predicts the final result, and the first step is only a part of it. Also, the preview does not know whether
// the edit would begin an update: an API server has already raised the generation.
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

// planned returns the plan after the success of each earlier step.
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
