package group

import (
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// ForgetAfter is for how long a vCenter must have been unreachable before it may be taken for one that is gone for good.
const ForgetAfter = 24 * time.Hour

// Loss is what the hub says of a vCenter that cannot be looked at. The zero value is one that may come back.
type Loss struct {
	// Deleted is true when the hub has no VCenter of that name. Since is from when on its condition says that it cannot be reached, or zero.
	Deleted bool
	Since   time.Time
	// AllowedUntil is until when a hub administrator lets groups be forgotten, or zero.
	AllowedUntil time.Time
	// SeenIn is another VCenter that shows VMs with the group's stamp, or empty.
	SeenIn string
	// Hidden are other VCenters whose inventories are not known.
	Hidden []Hidden
}

// Hidden is a VCenter that can have VMs of the group, since its inventory is not known.
type Hidden struct {
	// VCenter is its name, or empty if the group may not use it.
	VCenter string
	// Since is from when on its condition says that it cannot be reached, or zero.
	Since time.Time
}

// forget lets a group go whose vCenter is gone for good, if its user asks for that and a hub administrator allows it: what it was charged in quotas is
// freed, though nobody knows whether its VMs run. Nothing is asked of vCenter.
func (s *Snapshot) forget() Decision {
	if !v1alpha1.ForgetAsked(s.Group) || s.Vanished || s.Paused != nil || !s.away() {
		return Decision{}
	}
	if missing, again := s.forgetLacks(); missing != "" {
		return s.blocked(plan.Blocker{Reason: v1alpha1.ReasonForgetHeld, Terminal: true, Message: s.Unavailable.Message + ". " + missing}, again)
	}
	receipt := Receipt{Forgotten: true, VMs: make([]ReceiptVM, 0, len(s.Group.Status.VMs))}
	for _, vm := range s.Group.Status.VMs {
		receipt.VMs = append(receipt.VMs, ReceiptVM{vm.Name, vm.MoRef, vm.UUID, vm.Ordinal, vm.Revision})
	}
	return s.letGo(Decision{}, receipt, Event{"Warning", v1alpha1.EventGroupForgotten, "Forget", fmt.Sprintf(
		"VCenter %q is gone, so the group goes without it; the hub has a receipt for %d VMs. They count in no quota any more; those that come back are orphans", s.VCenter, len(receipt.VMs))})
}

// away reports whether the vCenter cannot be looked at: it is deleted, or it does not answer.
func (s *Snapshot) away() bool {
	return s.Unavailable != nil && (s.Lost.Deleted || s.Unavailable.Reason == v1alpha1.ReasonVCenterUnreachable)
}

// forgetLacks says what is missing before the group may be forgotten, or is empty. again is when to look again, or zero.
func (s *Snapshot) forgetLacks() (missing string, again time.Duration) {
	lost := s.Lost
	switch from := lost.Since.Add(ForgetAfter); {
	case lost.SeenIn != "":
		return fmt.Sprintf("The group is not forgotten: VCenter %q has VMs that carry its stamp. Remove annotation %s, and ask the platform team", lost.SeenIn, v1alpha1.ForgetAnnotation), unwatchedInterval
	case lost.Deleted:
	case lost.Since.IsZero():
		return fmt.Sprintf("The group is not forgotten: condition %s of the VCenter does not say False. A vCenter counts as gone for good %s after that, or when its VCenter is deleted on the hub",
			v1alpha1.ConditionReachable, ForgetAfter), unwatchedInterval
	case s.Now.Before(from):
		return fmt.Sprintf("The group is not forgotten before %s: only then the vCenter has been unreachable for %s", from.UTC().Format(time.RFC3339), ForgetAfter), from.Sub(s.Now)
	}
	for _, h := range lost.Hidden {
		if until := h.Since.Add(ForgetAfter); h.Since.IsZero() || s.Now.Before(until) {
			return h.holds(until), unwatchedInterval
		}
	}
	allows, from := allowance.Counts(lost.AllowedUntil, s.Now)
	if allows {
		return "", 0
	}
	kind, name := "vcenter", s.VCenter
	if lost.Deleted {
		kind, name = "membercluster", s.Member
	}
	missing = fmt.Sprintf("To forget the group takes the word of a hub administrator, since its VMs count in no quota any more then. On the hub, for half an hour: "+
		"%s", allowance.Command(kind, name, v1alpha1.AllowForgetAnnotation))
	if again = unwatchedInterval; !from.IsZero() {
		again = from.Sub(s.Now)
		missing += fmt.Sprintf(". The time that is set is more than an hour ahead and allows nothing before %s", from.UTC().Format(time.RFC3339))
	}
	return missing, again
}

// holds says that the group waits for a VCenter whose inventory is not known. until is when it counts as gone for good, if it is unreachable.
func (h Hidden) holds(until time.Time) string {
	name := "another VCenter, which this group may not use,"
	if h.VCenter != "" {
		name = fmt.Sprintf("VCenter %q", h.VCenter)
	}
	message := fmt.Sprintf("The group is not forgotten: the inventory of %s is not known, so that it can have VMs of the group. Wait until its inventory is complete, "+
		"or ask the platform team to delete that VCenter on the hub if it is not used any more", name)
	if !h.Since.IsZero() {
		message += fmt.Sprintf(". If it stays unreachable, it counts as gone for good at %s", until.UTC().Format(time.RFC3339))
	}
	return message
}

// TellForget adds to why the vCenter of a group that is being deleted cannot be looked at how the group goes without it.
func (s *Snapshot) TellForget() {
	gone := s.Lost.Deleted || !s.Lost.Since.IsZero() && !s.Now.Before(s.Lost.Since.Add(ForgetAfter))
	if !s.deleting() || !s.away() || !gone || v1alpha1.ForgetAsked(s.Group) {
		return
	}
	s.Unavailable.Message += fmt.Sprintf(". If the vCenter is gone for good, and the VMs with it: %s%s", s.annotate(v1alpha1.ForgetAnnotation), s.keepsNothing())
}
