package group

import (
	"fmt"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Receipt is the record on the hub that must exist before a group is deleted whose VMs stay.
type Receipt struct {
	// Forgotten is true if the vCenter is permanently lost. VMs are then those in status, without an observation. Otherwise the VMs were observed, and are kept.
	Forgotten bool
	VMs       []ReceiptVM
}

// ReceiptVM is one VM that stays.
type ReceiptVM struct {
	Name, MoRef, UUID string
	Ordinal           int32
	Revision          string
}

// Annotation returns the annotation that asked for the receipt.
func (r *Receipt) Annotation() string {
	if r.Forgotten {
		return v1alpha1.ForgetAnnotation
	}
	return v1alpha1.ReleaseAnnotation
}

// ReceiptAnswer is the result of writing a receipt.
type ReceiptAnswer struct {
	Receipt Receipt
	Err     error
	// Wait is the time until the next attempt, because the member has used up its budget of writes on the hub, or zero.
	Wait time.Duration
}

// releases reports whether the group is being deleted and keeps its VMs.
func (s *Snapshot) releases() bool { return v1alpha1.ReleaseAsked(s.Group) }

// keep deletes a group whose VMs stay. The receipt comes first: without it, such VMs could not be distinguished from others whose group was deleted.
func (s *Snapshot) keep(d Decision) Decision {
	if unread := s.unread(); unread != nil {
		return s.blocked(*unread, 0)
	}
	receipt := Receipt{VMs: make([]ReceiptVM, 0, len(d.Plan.VMs))}
	names := make([]string, 0, len(d.Plan.VMs))
	for _, vm := range d.Plan.VMs {
		receipt.VMs = append(receipt.VMs, ReceiptVM{vm.Name, vm.MoRef, vm.UUID, vm.Ordinal, vm.Revision})
		names = append(names, fmt.Sprintf("%s (%s)", vm.Name, vm.MoRef))
	}
	return s.letGo(d, receipt, Event{Type: "Normal", Reason: v1alpha1.EventVMsKept, Action: "Release", Note: fmt.Sprintf(
		"The VMs are kept as they are, and the hub has a receipt: %s. They count in quotas until a VmGroup with annotation %s=%s takes them, or a user deletes them", list(names, 8), v1alpha1.AdoptAnnotation, s.Group.UID)})
}

// letGo writes the receipt, and then deletes the group.
func (s *Snapshot) letGo(d Decision, receipt Receipt, told Event) Decision {
	switch answer := s.Receipt; {
	case answer == nil:
		d.Step, d.Receipt = WriteReceipt, &receipt
	case answer.Err != nil:
		return s.blocked(plan.Blocker{Reason: v1alpha1.ReasonReceiptFailed, Message: fmt.Sprintf(
			"the VMs of this group stay, and the group waits until the hub has a receipt for them. It cannot be written: %v", answer.Err)}, RetryInterval)
	case answer.Wait > 0:
		return s.waits(plan.Blocker{Reason: v1alpha1.ReasonHubWriteDelayed, Message: fmt.Sprintf(
			"the VMs of this group stay, and the group waits until the hub has a receipt for them. Many VmGroups of MemberCluster %q changed within a short time, "+
				"and the rate of such writes is limited. The operator retries", s.Member)}, answer.Wait)
	default:
		d.Step, d.Events = Release, []Event{told}
	}
	return d
}

// toKeep returns the command that keeps the VMs of a group that is being deleted.
func (s *Snapshot) toKeep() string { return s.annotate(v1alpha1.ReleaseAnnotation) }

// annotate returns the command that sets an annotation of the group to its UID.
func (s *Snapshot) annotate(annotation string) string {
	return fmt.Sprintf("kubectl annotate vmgroup %s -n %s --overwrite %s=%s", s.Group.Name, s.Group.Namespace, annotation, s.Group.UID)
}

// keepsNothing reports annotations of a group being deleted that have the UID of another object. It returns "" if there are none.
func (s *Snapshot) keepsNothing() string {
	if !s.deleting() {
		return ""
	}
	var told strings.Builder
	for _, annotation := range []string{v1alpha1.ReleaseAnnotation, v1alpha1.ForgetAnnotation} {
		if value, set := s.Group.Annotations[annotation]; set && value != string(s.Group.UID) {
			fmt.Fprintf(&told, ". Annotation %s of the VmGroup is %q, which is not its UID, and has no effect", annotation, untrusted.Text(value, 40))
		}
	}
	return told.String()
}

// keeping explains what the deletion of a group that keeps its VMs waits for.
func (f Facts) keeping() string {
	waits := map[v1alpha1.VMPhase][]string{}
	for _, vm := range f.Plan.VMs {
		waits[vm.Phase] = append(waits[vm.Phase], vm.Name)
	}
	var parts []string
	for _, w := range []struct {
		phase v1alpha1.VMPhase
		why   string
	}{
		{v1alpha1.VMDeleting, "marked for destruction before, which is not taken back"}, {v1alpha1.VMCloning, "being cloned"}, {v1alpha1.VMLost, "not found, or moved away"},
	} {
		if names := waits[w.phase]; len(names) > 0 {
			parts = append(parts, fmt.Sprintf("%s: %s", w.why, list(names, 8)))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "what vCenter was asked to do with them")
	}
	return fmt.Sprintf("keeping the VMs, as annotation %s asks; the group goes when this has ended: %s%s", v1alpha1.ReleaseAnnotation, strings.Join(parts, "; "), f.guests())
}
