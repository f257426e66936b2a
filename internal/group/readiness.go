package group

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// readiness is condition Ready with its short form.
type readiness struct {
	status                 metav1.ConditionStatus
	reason, message, brief string
}

// readiness returns whether the group matches spec, and the reason if not.
func (f Facts) readiness(blockers []plan.Blocker) readiness {
	p := f.Plan
	if !f.Complete {
		if len(blockers) > 0 {
			return readiness{metav1.ConditionUnknown, blockers[0].Reason, blockers[0].Message, briefly(blockers[0])}
		}
		return readiness{metav1.ConditionUnknown, v1alpha1.ReasonInventoryIncomplete, f.Incomplete, f.Incomplete}
	}
	counts := fmt.Sprintf("%d of %s ready", min(p.Ready, p.Desired), are(p.Desired))
	if f.satisfied() && terminal(blockers) == nil {
		remark, brief := f.remark(blockers)
		return readiness{metav1.ConditionTrue, v1alpha1.ReasonAllVMsReady, counts + remark, brief}
	}
	holding := slices.DeleteFunc(slices.Clone(blockers), func(b plan.Blocker) bool { return b.Remark })
	if len(holding) > 0 {
		b := holding[0]
		if t := terminal(holding); t != nil {
			b = *t
		}
		return readiness{metav1.ConditionFalse, b.Reason, withHanging(b.Message, p.VMs), briefly(b)}
	}
	reason, progress := f.underWay(counts)
	message := withHanging(progress, p.VMs)
	brief := message
	if message != progress {
		brief = hanging(p.VMs)
	}
	if len(blockers) > 0 {
		message = strings.TrimSuffix(message, ".") + "; " + blockers[0].Message
	}
	return readiness{metav1.ConditionFalse, reason, message, brief}
}

// underWay describes the work in progress until the group matches spec.
func (f Facts) underWay(counts string) (reason, message string) {
	p, most := f.Plan, f.Plan.Desired+f.Plan.Surge
	switch {
	case f.Keeps:
		return v1alpha1.ReasonReleasing, f.keeping()
	case f.Deleting:
		return v1alpha1.ReasonDeleting, fmt.Sprintf("deleting: %s left%s%s", are(int32(len(p.VMs))), f.guests(), f.WithoutEffect)
	case f.updating():
		return p.Update.Reason, p.Update.Message
	case p.Repairing:
		return v1alpha1.ReasonRepairing, counts + "; repairing what was changed outside of the operator" + waitsFor(p.VMs)
	case p.Existing < p.Desired:
		return v1alpha1.ReasonScalingUp, fmt.Sprintf("%d of %s there; %s", p.Existing, are(p.Desired), cloning(p.VMs))
	case p.Existing > most && len(p.Doomed) == 0:
		return v1alpha1.ReasonScalingDown, fmt.Sprintf("%s wanted, and there are %d: what the update added leaves once enough others are available%s",
			are(p.Desired), p.Existing, waitingFor(p.VMs))
	case len(p.Doomed) > 0:
		return v1alpha1.ReasonScalingDown, fmt.Sprintf("%s wanted; removing %d%s%s", are(p.Desired), len(p.Doomed), f.guests(), delayed(p.VMs))
	case f.Spec.PowerState == v1alpha1.PoweredOff:
		return v1alpha1.ReasonStopping, fmt.Sprintf("%d of %s stopped%s", p.Ready, are(p.Desired), waitingFor(p.VMs))
	default:
		return v1alpha1.ReasonStarting, counts + waitingFor(p.VMs)
	}
}

// satisfied reports whether all VMs exist and are as wanted now. A paused update can have more VMs than are wanted.
func (f Facts) satisfied() bool {
	p := &f.Plan
	return !f.Deleting && !f.Admission.Held && p.Existing == p.Desired+p.Surge && p.Ready >= p.Desired && len(p.Doomed) == 0 && !f.updating() &&
		!slices.ContainsFunc(p.VMs, func(vm plan.VMStatus) bool { return vm.Phase == v1alpha1.VMCloning }) // more are being cloned
}

// remark returns an addition to the message of a group whose VMs are all ready, and its short form.
func (f Facts) remark(blockers []plan.Blocker) (remark, brief string) {
	switch {
	case len(blockers) > 0:
		return "; " + blockers[0].Message, briefly(blockers[0])
	case f.CreateBlocked != nil:
		return ", but a VM that is lost could not be replaced: " + f.CreateBlocked.Message, briefly(*f.CreateBlocked)
	case f.Plan.Update.Reason != "" && f.Plan.Update.Reason != v1alpha1.ReasonUpToDate:
		return ", but not all are as spec says: " + f.Plan.Update.Message, f.Plan.Update.Message
	}
	return ".", messageReconciled
}

// updating reports whether VMs do not match spec and are about to be updated, or cannot be. If a user asked for them to wait, no update is about to happen.
func (f Facts) updating() bool {
	if f.Paused != nil || f.Deleting {
		return false
	}
	switch f.Plan.Update.Reason {
	case v1alpha1.ReasonRolloutProgressing, v1alpha1.ReasonWaitingForQuota, v1alpha1.ReasonRolloutStopped, v1alpha1.ReasonRetainForbidsReplacement:
		return true
	case v1alpha1.ReasonRolloutPending: // a user updates the VMs, or spec is not allowed
		return f.Spec.UpdateStrategy == nil || f.Spec.UpdateStrategy.Type != v1alpha1.UpdateOnDelete
	}
	return false
}

// are returns the number of VMs as the beginning of a sentence.
func are(n int32) string {
	if n == 1 {
		return "1 VM is"
	}
	return fmt.Sprintf("%d VMs are", n)
}

// waitingFor names the first VM that is not available, with the reason.
func waitingFor(vms []plan.VMStatus) string {
	for _, vm := range vms {
		switch {
		case vm.Available:
		case vm.Message != "":
			return fmt.Sprintf("; %s: %s", vm.Name, vm.Message)
		case vm.Phase == v1alpha1.VMReady:
			return fmt.Sprintf("; %s has not been ready for spec.readiness.minReadySeconds yet", vm.Name)
		default:
			return fmt.Sprintf("; %s is in phase %s", vm.Name, vm.Phase)
		}
	}
	return ""
}

// waitsFor names the first VM that is not available, without its reference, so that repeated repairs form one series of events.
func waitsFor(vms []plan.VMStatus) string {
	for _, vm := range vms {
		if !vm.Available {
			return "; waiting for " + vm.Name
		}
	}
	return ""
}

// cloning describes the missing VMs: they can wait for a VM that leaves and is not visible.
func cloning(vms []plan.VMStatus) string {
	waits := delayed(vms)
	if waits == "" || slices.ContainsFunc(vms, func(vm plan.VMStatus) bool { return vm.Phase == v1alpha1.VMCloning || vm.Phase == v1alpha1.VMPending }) {
		return "cloning the others"
	}
	return "the others are cloned once it is known what becomes of those that leave" + waits
}

// delayed names the first VM whose removal waits, with the reason.
func delayed(vms []plan.VMStatus) string {
	for i := range vms {
		if vm := &vms[i]; vm.Phase == v1alpha1.VMDeleting && vm.Message != "" {
			return fmt.Sprintf("; %s: %s", vm.Name, vm.Message)
		}
	}
	return ""
}

// withHanging adds the first VM that a task or question holds, with the remedy, unless the message has it already. It also adds the number of others.
func withHanging(message string, vms []plan.VMStatus) string {
	held := slices.DeleteFunc(slices.Clone(vms), func(vm plan.VMStatus) bool { return vm.Hangs == "" })
	if len(held) == 0 {
		return message
	}
	if !strings.Contains(message, held[0].Hangs) {
		message = strings.TrimSuffix(message, ".") + "; " + hanging(held)
	}
	if more := len(held) - 1; more > 0 {
		message += fmt.Sprintf(" (status.vms names %d more)", more)
	}
	return message
}

// hanging names the first VM that a task or a question holds.
func hanging(vms []plan.VMStatus) string {
	for i := range vms {
		if vm := &vms[i]; vm.Hangs != "" {
			return vm.Name + ": " + vm.Hangs
		}
	}
	return ""
}

// guests returns the number of leaving VMs whose guests are shutting down, and how to skip the wait.
func (f Facts) guests() string {
	n := 0
	for _, vm := range f.Plan.VMs {
		if !vm.ShutdownTime.IsZero() {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; guests that are waited for: %d (status.vms says until when; spec.shutdown.mode Hard powers their VMs off at once)", n)
}

// GuestInfoKey returns the key that guests use to report readiness, or "".
func GuestInfoKey(spec *v1alpha1.VmGroupSpec) string {
	if spec.Readiness == nil || spec.Readiness.GuestInfo == nil {
		return ""
	}
	return spec.Readiness.GuestInfo.Key
}
