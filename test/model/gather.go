package model

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// gather returns the operator's knowledge at the beginning of a pass.
func (o *operator) gather() *group.Snapshot {
	w := o.world
	of := w.api.group
	s := &group.Snapshot{
		Now: w.now, Group: of, Revision: plan.Revision(of.Spec), ID: vsphere.GroupID{Installation: installation, Member: memberUID, Group: groupUID},
		Epoch: v1alpha1.Epoch{Generation: 1, Number: o.epoch}, Member: memberName, Paused: w.paused(of), Requester: policy.Requester{Member: memberName, Namespace: namespace},
		VCenter: vcenterName, Folder: of.Status.Folder,
	}
	record := group.Record{Admitted: w.hub.record}
	if w.hub.away {
		record = group.Record{Unread: "The hub does not answer"}
	}
	s.Believe(record)
	s.MassDeletion = group.MassDeletion{Rules: massdeletion.DefaultRules(), AllowedUntil: w.hub.massUntil, NamespaceUID: namespaceUID}
	if w.vc.away {
		s.Unavailable = &plan.Blocker{Reason: v1alpha1.ReasonVCenterUnreachable, Message: "VCenter \"default\" cannot be reached, so nothing is created or deleted"}
		s.Lost = group.Loss{Since: w.vc.awaySince, AllowedUntil: w.hub.forgetUntil}
	}
	if s.Adoption = group.AdoptionOf(of); s.Adoption != nil {
		s.Adoption.AllowedUntil = w.hub.adoptUntil
		if o.claimed != nil && (o.claimedUntil.IsZero() || w.now.Before(o.claimedUntil)) {
			s.Adoption.Answer = o.claimed
		}
	}
	o.observe(s)
	if of.DeletionTimestamp == nil {
		o.resolve(s)
	}
	if s.Removes() {
		s.MassDeletion.Trips = w.hub.trips
	}
	s.Written = o.written
	if s.Reported = o.reported; s.Unseen() {
		if s.OutOfSight = o.outOfSight; s.OutOfSight.IsZero() {
			s.OutOfSight = w.now
		}
	}
	o.outOfSight = s.OutOfSight
	return s
}

// resolve resolves the names in spec and evaluates policies.
func (o *operator) resolve(s *group.Snapshot) {
	w := o.world
	s.Names = w.names(&s.Group.Spec)
	if s.Reshaped() {
		admitted := policy.AdmittedSpec(s.Group.Spec, *s.Admitted)
		s.AdmittedNames = w.names(&admitted)
	}
	for _, recorded := range s.OldRevisions() {
		old := group.OldShape{Recorded: recorded, Shape: group.Shape{Spec: plan.Apply(recorded, s.Group.Spec)}}
		old.Names = w.names(&old.Spec)
		if old.Violations = w.violations(&old.Spec); w.catalog.unread {
			old.Violations, old.PoliciesUnread = nil, "Policies cannot be read"
		}
		s.Old = append(s.Old, old)
	}
	if s.Violations = w.violations(&s.Group.Spec); w.catalog.unread {
		s.Violations, s.PoliciesUnread = nil, "Policies cannot be read"
	}
}

// observe reads the group's VMs and its folder.
func (o *operator) observe(s *group.Snapshot) {
	w := o.world
	var known []string
	for _, vm := range s.Group.Status.VMs {
		ref := vm.MoRef
		if ref == "" && vm.Replaces != nil {
			ref = vm.Replaces.MoRef // it is looked up until its successor is seen
		}
		if ref != "" {
			known = append(known, ref)
		}
	}
	seen := w.vc.observe(groupUID, s.FolderRef().Value, known)
	o.seeAdoption(s)
	s.ForeignRecord = s.NamesOfOthers(seen)
	folder := s.FolderRef()
	for range 2 {
		home := s.Home(seen)
		if home == folder {
			break
		}
		folder, s.Folder = home, nil
		seen = w.vc.observe(groupUID, folder.Value, known)
		if !home.IsZero() {
			s.Folder = &v1alpha1.FolderStatus{Path: seen.Folder.Path, MoRef: home.Value}
		}
	}
	if s.Unavailable != nil {
		seen.Complete, seen.Incomplete = false, s.Unavailable.Message
	}
	s.See(seen)
}

// seeAdoption reads the VMs that another group released.
func (o *operator) seeAdoption(s *group.Snapshot) {
	a := s.Adoption
	if a == nil || a.Malformed(s.Group) != "" {
		return
	}
	var listed []string
	if a.Answer != nil {
		for _, ref := range a.Answer.Listed {
			listed = append(listed, ref.Value)
		}
	}
	v := &o.world.vc
	a.Seen, a.Folders = v.observe(a.From, "", listed), map[vsphere.Ref]vsphere.FolderPath{}
	for _, f := range v.folders {
		a.Folders[f.Ref] = f.Place
	}
}

// claim claims the VMs that another group released, if the hub has a receipt for them.
func (o *operator) claim(s *group.Snapshot) {
	w := o.world
	answer := &group.AdoptionAnswer{}
	again := 30 * time.Second
	switch {
	case s.Adoption.From != formerUID:
		answer.Blocked = s.NothingToAdopt()
	case w.hub.away:
		answer.Blocked = &plan.Blocker{Reason: v1alpha1.ReasonAdoptionWaits, Message: "The receipts on the hub cannot be read"}
		again = 5 * time.Second
	default:
		answer.Claimed, answer.Receipt, answer.Group, again = true, true, "former", 0
		for _, ref := range w.hub.adoptable {
			answer.Listed = append(answer.Listed, vsphere.VMRef(ref))
		}
	}
	o.claimed, o.claimedUntil = answer, time.Time{}
	if again > 0 {
		o.claimedUntil = w.now.Add(again)
	}
	s.Adoption.Answer = answer
	o.seeAdoption(s)
}

// paused returns the blocker of a paused group, or nil.
func (w *world) paused(of *v1alpha1.VmGroup) *plan.Blocker {
	switch {
	case of.Spec.Paused:
		return &plan.Blocker{Reason: v1alpha1.ReasonPaused, Message: "spec.paused is true: nothing is done until it is set to false"}
	case of.Annotations[v1alpha1.PausedAnnotation] != "":
		return &plan.Blocker{Reason: v1alpha1.ReasonPaused, Message: "the group is annotated as paused: nothing is done until that is removed"}
	case w.hub.memberPaused:
		return &plan.Blocker{Reason: v1alpha1.ReasonMemberPaused, Message: "MemberCluster \"team-a\" is paused on the hub: nothing is done until it is resumed"}
	}
	return nil
}

// secrets reads user data.
func (w *world) secrets(names []string) map[string]*group.UserDataAnswer {
	all := map[string]*group.UserDataAnswer{}
	for _, name := range names {
		all[name] = &group.UserDataAnswer{Data: []byte("#cloud-config")}
		if w.catalog.userDataMissing {
			all[name] = &group.UserDataAnswer{Blocked: &plan.Blocker{Reason: v1alpha1.ReasonUserDataNotFound, Terminal: true, Message: "spec.userDataSecretRef: Secret " + name + " does not exist"}}
		}
	}
	return all
}
