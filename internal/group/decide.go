package group

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// blindPatience is how long a group's VMs can be out of sight before that is reported. Every start of the operator, new session or changed connection causes a short
	// gap. Reporting and reverting it in a thousand groups would be two thousand needless writes. Nothing is created or deleted in that time, reported or not.
	blindPatience = 5 * time.Second
	// statusInterval is the minimum time between two status writes of one group that only report. Writes that an action depends on (the intent to clone or destroy) are
	// never delayed. The interval bounds the API writes of a big scale-up by its duration instead of by its number of VMs.
	statusInterval = time.Second
	// detailsInterval is the same for a large status in which only details of VMs have changed: see Large and sameButDetails.
	detailsInterval = 5 * time.Second
	// pausedInterval is the same for a paused group, whose edits have no effect: endless edits cause few writes.
	pausedInterval = 10 * time.Second
	// RaiseInterval is the interval in which the groups of one member can raise the shard map's generation. All of them
	// are checked for it, so that a restored shard map is raised once.
	RaiseInterval = time.Hour
	// newFor is the age up to which an empty status means that the group is new. Later, it can mean that status was lost.
	newFor = 2 * time.Minute
	// soon is the delay until the pass that sees the effect of an expected event.
	soon = time.Second
	// RetryInterval is the retry delay after a rejected change, folderInterval that after a rejected folder removal.
	RetryInterval  = 2 * time.Second
	folderInterval = 10 * time.Second
	// unwatchedInterval is the interval of checks for changes without an event: a member's Secret, a VM outside the root folder, a privilege.
	unwatchedInterval = 30 * time.Second
)

// Decision is the next step of a pass over a group.
type Decision struct {
	Step Step
	// After is the delay of the next pass without changes; zero for never.
	After time.Duration
	// Quota is the question of AskQuota.
	Quota QuotaQuestion
	// Spec is the planned spec: the group's, or its admitted part. Revision and Names are those of Spec.
	Spec     v1alpha1.VmGroupSpec
	Revision string
	Names    Names
	// Old are the shapes of older revisions that VMs have.
	Old []OldShape
	// Secrets are those that ReadUserData reads.
	Secrets []string
	// Plan contains the actions that Act submits.
	Plan plan.Plan
	// adoption is Plan's input about the VMs to adopt.
	adoption *plan.Adoption
	// AdoptionEnds is true when all VMs that the group has room for were adopted. It is reported once.
	AdoptionEnds bool
	// Record is the record that PutRecord stores, before Status is written and Plan is submitted.
	Record *v1alpha1.Admitted
	// Receipt is the receipt that WriteReceipt writes.
	Receipt *Receipt
	// Status to write, with Events to send once it is written; nil if no write is due.
	Status *v1alpha1.VmGroupStatus
	Events []Event
	// Later is the status for a later pass: no action depends on it now. It has changes that Plan repairs at once.
	Later *v1alpha1.VmGroupStatus
}

// QuotaQuestion is the question of AskQuota.
type QuotaQuestion struct {
	// Returns is true if the group returns the part of its grant that exceeds Occupies and Wants.
	Returns         bool
	Occupies, Wants policy.Usage
	// Claims is true if spec must be claimed. The group Holds this much. Granted is admitted and needs no grant.
	Claims         bool
	Holds, Granted policy.Usage
	// Surges are the requests for an update, with one extra VM, with two, and so on.
	Surges []policy.Usage
}

// Decide returns the next step of a pass over a group. It computes at most one plan, and changes nothing.
func Decide(s *Snapshot) Decision {
	if d := s.own(); d.Step != "" {
		return d
	}
	if d := s.definition(); d.Step != "" {
		return d
	}
	if d := s.sight(); d.Step != "" {
		return d
	}
	if d := s.forget(); d.Step != "" {
		return d
	}
	if d := s.claims(); d.Step != "" {
		return d
	}
	admission, d := s.admit()
	if d.Step != "" {
		return d
	}
	next := s.plan(admission)
	creates := next.Plan.Creates() > 0
	if s.UserData == nil {
		next.Secrets = s.secrets(&next)
	}
	switch {
	case len(next.Secrets) > 0:
		next.Step = ReadUserData
		return next
	case next.Plan.Gone:
		return s.finish(next)
	case next.AdoptionEnds && slices.Contains(s.Group.Finalizers, v1alpha1.LegacyFinalizer):
		next.Step = RemoveLegacyFinalizer
		return next
	case next.Plan.Kept:
		return s.keep(next)
	case (creates || next.Plan.Adopting > 0) && s.Paused == nil && s.FolderMade == nil && s.lacksFolder():
		next.Step = MakeFolder
		return s.written(next)
	}
	return s.act(admission, next)
}

// own decides whether the operator can change the group. If no step is returned, nothing must be done first.
func (s *Snapshot) own() Decision {
	has := func(finalizer string) bool { return slices.Contains(s.Group.Finalizers, finalizer) }
	switch {
	case s.overtaken():
		return s.raise()
	case fenced(s.FolderMade), fenced(s.FolderRemoved):
		return Decision{Step: Wait, After: soon} // another replica acts on the group now
	case has(v1alpha1.LegacyFinalizer) && s.Group.Annotations[v1alpha1.AdoptAnnotation] == v1alpha1.AdoptAbandon:
		if b := s.abandonsOwn(); b != nil {
			return s.blocked(*b, unwatchedInterval)
		}
		return Decision{Step: RemoveLegacyFinalizer}
	case has(v1alpha1.LegacyFinalizer) && (s.deleting() || !s.adoptsLegacy()):
		return s.blocked(legacy(), 0)
	case has(v1alpha1.VmGroupFinalizer):
		return Decision{}
	case s.deleting():
		return Decision{Step: Wait}
	}
	return Decision{Step: AddFinalizer}
}

// fenced reports whether an attempt failed because this replica has lost the right to act.
func fenced(a *Attempt) bool { return a != nil && vsphere.KindOf(a.Err) == vsphere.KindFenced }

// raise decides about a group whose status has a later epoch than the shard map. No other replica can act on the group now. So the shard map was restored or recreated, or a
// user who can write status invented that epoch. So a member raises the shard map, for all members, a bounded distance and rarely. A group that asks for more is held alone.
func (s *Snapshot) raise() Decision {
	shown := s.Group.Status.Ownership.Epoch
	held := func(after time.Duration, why string) Decision {
		return s.blocked(plan.Blocker{Reason: v1alpha1.ReasonEpochAhead, Terminal: true, Message: fmt.Sprintf(
			"status.ownership.epoch is %d.%d, and the operator is at %d.%d: %s. Nothing is done with this group and its VMs. "+
				"If no other operator serves the group, remove status.ownership (kubectl edit vmgroup %s -n %s --subresource=status)",
			shown.Generation, shown.Number, s.Epoch.Generation, s.Epoch.Number, why, s.Group.Name, s.Group.Namespace)}, after)
	}
	again := s.Raised.At.Add(RaiseInterval)
	switch {
	case shown.Generation-s.Epoch.Generation > protocol.MaxRaise:
		return held(0, "that is too far ahead to be believed, so it was written by hand, or by another installation")
	case shown.Generation > s.Raised.Above && s.Now.Before(again):
		return held(again.Sub(s.Now), fmt.Sprintf("for another group of member cluster %q the operator went ahead at %s already, and does so again at %s",
			s.Member, s.Raised.At.UTC().Format(time.TimeOnly), again.UTC().Format(time.TimeOnly)))
	}
	return Decision{Step: RaiseEpoch, After: soon}
}

// legacy blocks a group of the original operator. Its VMs have no stamp and random names, so the actions for one of our groups would clone every VM a second time.
func legacy() plan.Blocker {
	return plan.Blocker{Reason: v1alpha1.ReasonLegacyObject, Terminal: true, Message: fmt.Sprintf(
		"this VmGroup carries the finalizer %q of the original operator, so it and its VMs are left untouched. "+
			"To leave those VMs to yourself and let this operator create new ones, annotate the VmGroup with %s=%s. "+
			"To take the existing VMs over, annotate it with %s=%s, before it is deleted; a hub administrator has to grant their folder",
		v1alpha1.LegacyFinalizer, v1alpha1.AdoptAnnotation, v1alpha1.AdoptAbandon, v1alpha1.AdoptAnnotation, v1alpha1.AdoptLegacy)}
}

// sight decides whether enough is known to continue.
func (s *Snapshot) sight() Decision {
	switch {
	case s.Stranger && !s.deleting():
		return Decision{Step: Wait, After: soon}
	case s.deleting() && s.neverActed() && s.Unavailable != nil:
		return Decision{Step: Release}
	case s.homeless():
		return s.lost()
	case s.OutOfSight.IsZero():
		return Decision{}
	}
	if wait := s.OutOfSight.Add(blindPatience).Sub(s.Now); wait > 0 {
		return Decision{Step: Wait, After: wait}
	}
	return Decision{}
}

// explained converts an error of vCenter to the reason why a group is not ready.
func explained(err error) *plan.Blocker {
	b := &plan.Blocker{Message: err.Error()}
	b.Reason, b.Terminal = plan.Explain(err)
	return b
}

// retryAfter is the retry delay after vCenter rejected an action: longer for a missing privilege or a moved folder.
func retryAfter(err error) time.Duration {
	if vsphere.KindOf(err) == vsphere.KindTransient {
		return RetryInterval
	}
	return unwatchedInterval
}

// admit decides how far the group can follow its spec.
func (s *Snapshot) admit() (policy.Admission, Decision) {
	if s.deleting() {
		if s.Quota == nil && !s.Vanished {
			return policy.Admission{}, Decision{Step: AskQuota, Quota: s.quotaQuestion(policy.Usage{}, false)}
		}
		return policy.Admission{Spec: s.Group.Spec, Admitted: s.Admitted}, Decision{}
	}
	v := s.findings()
	takesOver := s.takesOver()
	if s.Quota == nil {
		var wants policy.Usage // others can use what it cannot
		if !v.Refused() {
			wants = s.wants()
		}
		claims := !v.Refused() && !v.Unresolved && v.Unavailable == ""
		if claims && takesOver {
			wants = s.stands()
			wants.Groups = 1
		}
		return policy.Admission{}, Decision{Step: AskQuota, Quota: s.quotaQuestion(wants, claims)}
	}
	if s.Quota.Waiting {
		if r := s.correction(); r != nil {
			return policy.Admission{}, Decision{Step: PutRecord, Record: r}
		}
		return policy.Admission{}, s.waitForLedger()
	}
	v.Quota, v.Unavailable = s.explainOthers(s.Quota.Violations), cmp.Or(v.Unavailable, s.Quota.Unavailable)
	if takesOver && !v.Refused() && v.Unavailable == "" {
		return policy.Admission{Spec: s.Group.Spec, Admitted: s.Admitted}, Decision{} // spec is admitted once its VMs exist
	}
	return policy.Decide(v), Decision{}
}

// findings are the objections to the group's spec, except those of quotas.
func (s *Snapshot) findings() policy.Findings {
	spec := &s.Group.Spec
	v := policy.Findings{
		Spec: *spec, Revision: s.Revision, Admitted: s.Admitted, Unrecorded: s.unrecorded(), Existing: s.existing(),
		Denials: s.Names.Denials, Violations: s.Violations, Unavailable: cmp.Or(s.PoliciesUnread, s.record.Unread),
		Unresolved: s.Names.Unresolved || s.Unavailable != nil || spec.CPU < 1 || spec.Memory < 1 || !spec.FillsSockets(),
	}
	if s.Reshaped() {
		v.Standing = s.standing()
	}
	if spec.UserDataSecretRef != nil && s.UserDataDenied {
		// For a group with an admitted shape, this change is refused; for any other, cloning reports it.
		if v.Unresolved = true; shaped(v.Admitted) {
			v.Denials = append(slices.Clip(v.Denials), UserDataDenial(s.Member))
		}
	}
	return v
}

// plan plans the actions for the spec that hold allows. To replace a lost VM, the references of the held shape must exist and be granted.
func (s *Snapshot) plan(admission policy.Admission) Decision {
	d := Decision{Spec: admission.Spec, Revision: s.Revision, Names: s.Names, Old: s.Old}
	in := plan.Input{
		Now: s.Now, Name: s.Group.Name, ID: s.ID, Folder: s.FolderRef(), UpdateRevision: s.Revision,
		Deleting: s.deleting(), Keep: s.releases(), Paused: s.Paused,
		Predecessor: s.Predecessors.Agreed(), Observation: s.Observation, Known: known(&s.Group.Status), Doomed: s.Group.Status.Deleting, Listed: listed(&s.Group.Status), Replaced: s.Group.Status.Replaced, Gate: gateOf(&s.Group.Status),
		Edited: s.edited(), Rollout: s.rollout(), Desired: s.Group.Status.DesiredReplicas, Surge: s.surgeRoom(),
	}
	in.Hold, _ = s.removal()
	in.Adoption = s.toAdopt(admission)
	in.UpdateBlocked = s.updateBlocked(admission, in.Hold, in.Adoption)
	if admission.Held {
		in.MayStay = ptr.Deref(s.Group.Spec.Replicas, 1)
	}
	if admission.Reshaped {
		d.Spec = s.asAdmitted(admission.Spec)
		d.Revision, d.Names = plan.Revision(d.Spec), s.AdmittedNames
	}
	if admission.NoCreate {
		d.Names.Blocked = BlockerOf(admission)
	}
	if ref := d.Spec.UserDataSecretRef; d.Names.Blocked == nil && ref != nil && s.UserData[ref.Name] != nil {
		d.Names.Blocked = s.UserData[ref.Name].Blocked
	}
	if d.Names.Blocked == nil {
		d.Names.Blocked = tooMuchMetadata(d.Spec)
	}
	if d.Names.Blocked == nil {
		d.Names.Blocked = s.unread()
	}
	if d.Names.Blocked == nil {
		d.Names.Blocked = s.noRoom(d.Spec)
	}
	in.Spec, in.Revision, in.CreateBlocked, in.TemplateCores, in.KeepsNetwork = d.Spec, d.Revision, d.Names.Blocked, d.Names.Template.CoresPerSocket, d.Names.KeepsNetwork()
	in.Shapes = s.shapes(admission, &d)
	d.Plan = plan.Compute(in)
	d.adoption, d.AdoptionEnds = in.Adoption, s.ends(in.Adoption, &d.Plan)
	s.explainPredecessor(&d.Plan)
	return d
}

// lacksFolder reports whether the group has no folder. A folder that was moved away is not recreated.
func (s *Snapshot) lacksFolder() bool {
	return !s.Observation.FolderElsewhere && !s.folderTaken() && (s.FolderRef().IsZero() || s.Observation.FolderGone)
}

// folderProblem returns why nothing can be cloned into the group's folder, or nil.
func (s *Snapshot) folderProblem() error {
	switch {
	case s.Observation.FolderElsewhere:
		return &vsphere.Error{Kind: vsphere.KindConflict, Op: "clone into the group's folder", Err: fmt.Errorf(
			"folder %s (%s) was moved out of the operator's root folder; ask a hub administrator to move it back", untrusted.Name(s.Folder.Path), s.Folder.MoRef)}
	case s.folderTaken():
		return &vsphere.Error{Kind: vsphere.KindNameTaken, Op: "clone into the group's folder", Err: fmt.Errorf(
			"folder %s holds VMs of another VmGroup, of a member cluster that had this name before; ask a hub administrator to rename that folder", untrusted.Name(s.Observation.Folder.Path))}
	case s.FolderMade != nil && s.lacksFolder():
		return s.FolderMade.Err
	}
	return nil
}

// finish removes the folder of a group whose VMs were deleted, and then the group's finalizer.
func (s *Snapshot) finish(d Decision) Decision {
	if unread := s.unread(); unread != nil {
		return s.blocked(*unread, 0)
	}
	d.Step = Release
	if s.FolderRef().IsZero() || s.Observation.FolderGone {
		return d
	}
	if s.FolderRemoved == nil {
		d.Step = RemoveFolder
		return s.written(d)
	}
	switch err := s.FolderRemoved.Err; {
	case err == nil:
	case vsphere.KindOf(err) == vsphere.KindHoldsFolders, s.holdsStrangers(err):
		d.Events = []Event{{Type: "Normal", Reason: v1alpha1.EventFolderKept, Action: "Delete", Note: fmt.Sprintf("vCenter folder %s holds objects that are not this group's and is left in place", untrusted.Name(s.Folder.Path))}}
	default:
		return s.blocked(*s.folderStays(err), folderInterval)
	}
	return d
}

// folderStays explains why the group's folder stays for now. A folder that appears empty but is not can be about to show a VM of the group.
func (s *Snapshot) folderStays(err error) *plan.Blocker {
	b := explained(err)
	if e := (*vsphere.Error)(nil); errors.As(err, &e) && e.Kind == vsphere.KindNotEmpty && len(e.Holds) > 0 {
		b.Reason, b.Message = v1alpha1.ReasonInventoryIncomplete, fmt.Sprintf("vCenter folder %s is not removed yet: it holds %s, which the inventory does not show. "+
			"If this lasts, look for a VM in that folder that the operator's account cannot read", untrusted.Name(s.Folder.Path), s.unseen(e.Holds)[0].Value)
	}
	return b
}

// holdsStrangers reports whether a folder holds only VMs that the plan saw, none of them the group's. A VM that
// appeared since can be a late clone. An object other than a VM, such as a vApp, is no clone.
func (s *Snapshot) holdsStrangers(err error) bool {
	var e *vsphere.Error
	return errors.As(err, &e) && e.Kind == vsphere.KindNotEmpty && len(e.Holds) > 0 && len(s.unseen(e.Holds)) == 0
}

// unseen returns the VMs in a folder that the plan did not see.
func (s *Snapshot) unseen(holds []vsphere.Ref) []vsphere.Ref {
	return slices.DeleteFunc(slices.Clone(holds), func(held vsphere.Ref) bool {
		return held.Type != vsphere.TypeVirtualMachine || slices.ContainsFunc(s.Observation.VMs, func(vm vsphere.VM) bool { return vm.Ref == held })
	})
}
