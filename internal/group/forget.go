package group

import (
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// ForgetAfter is how long a vCenter must be unreachable before it can count as permanently lost.
const ForgetAfter = 24 * time.Hour

// Loss is the hub's knowledge of an unreachable vCenter. The zero value is a vCenter that can come back.
type Loss struct {
	// Deleted is true if the hub has no VCenter of that name. Since is the time since when its condition reports it as unreachable, or zero.
	Deleted bool
	Since   time.Time
	// AllowedUntil is the time until which a hub administrator allows to forget groups, or zero.
	AllowedUntil time.Time
	// SeenIn is another VCenter that shows VMs with the group's stamp, or empty.
	SeenIn string
	// Hidden are other VCenters whose inventories are unknown.
	Hidden []Hidden
}

// Hidden is a VCenter that can have VMs of the group, because its inventory is unknown.
type Hidden struct {
	// VCenter is its name, or empty if the group cannot use it.
	VCenter string
	// Since is the time since when its condition reports it as unreachable, or zero.
	Since time.Time
}

// forget deletes a group whose vCenter is permanently lost, if its user asks for that and a hub administrator allows it. Its quota is freed, although it is unknown whether its
// VMs run. The operator sends no vCenter request.
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
	return s.letGo(Decision{}, receipt, Event{Type: "Warning", Reason: v1alpha1.EventGroupForgotten, Action: "Forget", Note: fmt.Sprintf(
		"Deleted without access to VCenter %q; the hub has a receipt for %d VMs. They count in no quota any more; those that come back are orphans", s.VCenter, len(receipt.VMs))})
}

// away reports whether the vCenter cannot be read: it was deleted, or it does not respond.
func (s *Snapshot) away() bool {
	return s.Unavailable != nil && (s.Lost.Deleted || s.Unavailable.Reason == v1alpha1.ReasonVCenterUnreachable)
}

// forgetLacks returns the missing condition before the group can be forgotten, or "". again is the time until the next check, or zero.
func (s *Snapshot) forgetLacks() (missing string, again time.Duration) {
	lost := s.Lost
	switch from := lost.Since.Add(ForgetAfter); {
	case lost.SeenIn != "":
		return fmt.Sprintf("The group is not forgotten: VCenter %q has VMs that carry its stamp. Remove annotation %s, and ask a hub administrator", lost.SeenIn, v1alpha1.ForgetAnnotation), unwatchedInterval
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

// holds explains that the group waits for a VCenter with an unknown inventory. until is when the VCenter counts as permanently lost, if it is unreachable.
func (h Hidden) holds(until time.Time) string {
	name := "another VCenter, which this group may not use,"
	if h.VCenter != "" {
		name = fmt.Sprintf("VCenter %q", h.VCenter)
	}
	message := fmt.Sprintf("The group is not forgotten: the inventory of %s is not known, so that it can have VMs of the group. Wait until its inventory is complete, "+
		"or ask a hub administrator to delete that VCenter on the hub if it is not used any more", name)
	if !h.Since.IsZero() {
		message += fmt.Sprintf(". If it stays unreachable, it counts as gone for good at %s", until.UTC().Format(time.RFC3339))
	}
	return message
}

// TellForget adds to the message about an unreachable vCenter how to delete the group without access to the vCenter.
func (s *Snapshot) TellForget() {
	gone := s.Lost.Deleted || !s.Lost.Since.IsZero() && !s.Now.Before(s.Lost.Since.Add(ForgetAfter))
	if !s.deleting() || !s.away() || !gone || v1alpha1.ForgetAsked(s.Group) {
		return
	}
	s.Unavailable.Message += fmt.Sprintf(". If the vCenter and its VMs no longer exist: %s%s", s.annotate(v1alpha1.ForgetAnnotation), s.keepsNothing())
}
