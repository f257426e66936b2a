package group

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// tenths is the number of progress events of an update, so that an update of 500 VMs emits no more events than one of ten.
const tenths = 10

// underWay returns the update in progress from one status to the next, including one that ends with next, or nil.
func underWay(old, next *v1alpha1.VmGroupStatus) *v1alpha1.Rollout {
	switch {
	case next.Rollout == nil:
		return nil
	case len(next.Rollout.From) > 0:
		return next.Rollout
	case old.Rollout != nil && len(old.Rollout.From) > 0 && old.Rollout.Revision == next.Rollout.Revision:
		return old.Rollout
	}
	return nil
}

// replaces is true for a status whose leaving older VMs are being replaced, because the update runs.
func replaces(s *v1alpha1.VmGroupStatus) bool {
	c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionUpToDate)
	return c == nil || c.Reason != v1alpha1.ReasonRolloutPaused && c.Reason != v1alpha1.ReasonRolloutStopped && c.Reason != v1alpha1.ReasonRolloutPending
}

// rolloutEvents reports the start, progress and end of an update. The Stalled event reports a stopped update.
func rolloutEvents(old, next *v1alpha1.VmGroupStatus) (out []Event) {
	r := underWay(old, next)
	if r == nil {
		return nil
	}
	if was := old.Rollout; was == nil || was.Revision != r.Revision {
		n := 0
		for i := range next.VMs {
			if slices.Contains(r.From, next.VMs[i].Revision) {
				n++
			}
		}
		out = append(out, Event{Type: corev1.EventTypeNormal, Reason: v1alpha1.EventRolloutStarted, Action: "Update", Note: fmt.Sprintf("%s of revision %s; VMs are updated to revision %s", are(int32(n)), strings.Join(r.From, ", "), r.Revision)})
	}
	if step := max(1, (next.DesiredReplicas+tenths-1)/tenths); next.UpdatedReplicas/step > old.UpdatedReplicas/step {
		out = append(out, Event{Type: corev1.EventTypeNormal, Reason: v1alpha1.EventVMsUpdated, Action: "Update", Note: fmt.Sprintf("%d of %s of revision %s%s",
			next.UpdatedReplicas, are(next.DesiredReplicas), r.Revision, changed(old, next, r.Revision))})
	}
	if len(next.Rollout.From) == 0 {
		out = append(out, Event{Type: corev1.EventTypeNormal, Reason: v1alpha1.EventRolloutComplete, Action: "Update", Note: fmt.Sprintf("all VMs that were to be updated have revision %s", r.Revision)})
	}
	return out
}

// changed names VMs that were cloned with a revision, or changed to it.
func changed(old, next *v1alpha1.VmGroupStatus, revision string) string {
	var cloned, inPlace []string
	for i := range next.VMs {
		vm := &next.VMs[i]
		if vm.MoRef == "" || vm.Revision != revision {
			continue
		}
		at := slices.IndexFunc(old.VMs, func(was v1alpha1.VMStatus) bool { return was.MoRef == vm.MoRef })
		switch {
		case at < 0:
			cloned = append(cloned, vm.Name)
		case old.VMs[at].Revision != revision:
			inPlace = append(inPlace, vm.Name)
		}
	}
	var told strings.Builder
	if len(cloned) > 0 {
		fmt.Fprintf(&told, "; new: %s", list(cloned, 8))
	}
	if len(inPlace) > 0 {
		fmt.Fprintf(&told, "; changed: %s", list(inPlace, 8))
	}
	return told.String()
}
