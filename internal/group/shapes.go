package group

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// Shape is the source for clones of a revision: spec with the shape of the revision, and the resolved names.
type Shape struct {
	Spec  v1alpha1.VmGroupSpec
	Names Names
}

// OldShape is a shape that spec no longer has, but VMs of the group have.
type OldShape struct {
	Shape
	Recorded v1alpha1.Revision
	// Violations of policies by the shape. PoliciesUnread explains why policies cannot be read, or is empty.
	Violations     []policy.Violation
	PoliciesUnread string
}

// OldRevisions returns the valid recorded revisions that VMs have, except for that of spec: if such a VM is lost, it returns in its revision. A group whose VMs all match spec
// has none.
func (s *Snapshot) OldRevisions() (old []v1alpha1.Revision) {
	has := s.revisions()
	has = slices.DeleteFunc(has, func(revision string) bool { return revision == "" || revision == s.Revision })
	if len(has) == 0 {
		return nil
	}
	for _, shape := range plan.Believed(s.Group.Status.Revisions) {
		if slices.Contains(has, shape.Recorded.Revision) {
			old = append(old, shape.Recorded)
		}
	}
	return old
}

// shapes returns the known shapes, the newest last, each with the blocker of its clones. The caller checks the shape of spec.
func (s *Snapshot) shapes(admission policy.Admission, d *Decision) []plan.Shape {
	shapes := s.knownShapes()
	for i := range shapes {
		shape := &shapes[i]
		switch revision := shape.Recorded.Revision; revision {
		case d.Revision:
			shape.Blocked = d.Names.Blocked
		case s.Revision:
			shape.Blocked = BlockerOf(admission)
		default:
			shape.Blocked = s.blockedShape(admission, revision)
		}
	}
	return shapes
}

// recordedShapes returns the shapes that are recorded. The newest is the last one.
func (s *Snapshot) recordedShapes() []plan.Shape {
	return append(plan.BelievedAdopted(s.Group.Status.AdoptedRevisions), plan.Believed(s.Group.Status.Revisions)...)
}

// knownShapes returns the shapes that VMs of unrecorded revisions show, and those that are recorded. The newest is the last one.
func (s *Snapshot) knownShapes() []plan.Shape {
	recorded := s.recordedShapes()
	return append(s.derived(recorded), recorded...)
}

// blockedShape explains why no VM of an older revision is cloned, or returns nil.
func (s *Snapshot) blockedShape(admission policy.Admission, revision string) *plan.Blocker {
	var why *plan.Blocker
	old := s.old(revision)
	if old == nil {
		why = &plan.Blocker{Reason: v1alpha1.ReasonInventoryIncomplete, Message: "what it names has not been looked up"}
	} else if why = old.blocked(); why == nil {
		if why = s.blockedSecret(old.Spec); why == nil {
			why = tooMuchMetadata(old.Spec)
		}
	}
	switch {
	case why != nil:
	case admission.NoCreate:
		why = BlockerOf(admission)
	case s.takesOver():
		why = waits("VMs of another group are adopted first")
	default:
		why = s.unread()
	}
	return why
}

// old returns the data of an older revision, or nil.
func (s *Snapshot) old(revision string) *OldShape {
	for i := range s.Old {
		if s.Old[i].Recorded.Revision == revision {
			return &s.Old[i]
		}
	}
	return nil
}

// blocked explains why the shape cannot be cloned, or returns nil. The number of the group's VMs does not matter for a shape.
func (o *OldShape) blocked() *plan.Blocker {
	if o.Names.Blocked != nil {
		return o.Names.Blocked
	}
	if o.PoliciesUnread != "" {
		return &plan.Blocker{Reason: v1alpha1.ReasonPolicyUnavailable, Message: o.PoliciesUnread}
	}
	for _, v := range o.Violations {
		switch v.Rule {
		case policy.RuleReplicasMaximum, policy.RuleReplicasMinimum, policy.RuleQuotaRetain:
			continue
		}
		if v.Enforced {
			return &plan.Blocker{Reason: v1alpha1.ReasonPolicyViolated, Terminal: true, Message: v.Error()}
		}
	}
	return nil
}

// blockedSecret explains why the user data of a shape is not available, as far as is known, or returns nil.
func (s *Snapshot) blockedSecret(spec v1alpha1.VmGroupSpec) *plan.Blocker {
	ref := spec.UserDataSecretRef
	switch {
	case ref == nil:
		return nil
	case s.UserDataDenied:
		denial := UserDataDenial(s.Member)
		return &plan.Blocker{Reason: v1alpha1.ReasonUserDataDenied, Terminal: true, Message: denial.Field + ": " + denial.Message}
	}
	if answer := s.UserData[ref.Name]; answer != nil {
		return answer.Blocked
	}
	return nil
}

// secrets returns the user data Secrets that clones of a plan can need, or nil if they need none. A VM that leaves before its replacement is cloned needs the Secret of the
// replacement: the VM is kept if none can be cloned.
func (s *Snapshot) secrets(d *Decision) (names []string) {
	needed := d.Plan.Replaces && d.Spec.UserDataSecretRef != nil
	add := func(shape *Shape, revision string) {
		if ref := shape.Spec.UserDataSecretRef; ref != nil {
			names = append(names, ref.Name)
			needed = needed || slices.ContainsFunc(d.Plan.Actions, func(a plan.Action) bool { return a.Kind == plan.CreateVM && a.Revision == revision })
		}
	}
	add(&Shape{d.Spec, d.Names}, d.Revision)
	for i := range s.Old {
		if s.Old[i].blocked() == nil {
			add(&s.Old[i].Shape, s.Old[i].Recorded.Revision)
		}
	}
	if !needed {
		return nil
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Shape returns the source for a clone of a revision, or false if no clone is allowed.
func (d *Decision) Shape(revision string) (Shape, bool) {
	if revision == d.Revision {
		return Shape{d.Spec, d.Names}, true
	}
	for i := range d.Old {
		if d.Old[i].Recorded.Revision == revision {
			return d.Old[i].Shape, true
		}
	}
	return Shape{}, false
}

// asAdmitted returns spec with the admitted shape, with the revision of that time: the record does not contain replaceTrigger.
func (s *Snapshot) asAdmitted(spec v1alpha1.VmGroupSpec) v1alpha1.VmGroupSpec {
	for _, shape := range plan.Believed(s.Group.Status.Revisions) {
		if shape.Recorded.Revision != s.Admitted.Revision {
			continue
		}
		if was := plan.Apply(shape.Recorded, spec); was.HasShape(s.Admitted.VMShape) {
			return was
		}
	}
	return spec
}
