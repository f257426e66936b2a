// Package rollout decides about updates of VmGroups: how far one is, and which spec undoes it.
package rollout

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/conditions"
	"github.com/codeconnect/vmgroup-operator/internal/term"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Progress is how far an update is.
type Progress struct {
	// Complete is true if all VMs have the revision of spec and are ready.
	Complete bool
	// Waits is true if the update does not continue until a person acts.
	Waits bool
	// Text is the sentence about it.
	Text string
}

// Of returns the progress of a group's update.
func Of(g *v1alpha1.VmGroup) Progress {
	s := &g.Status
	revision, ready := untrusted.Text(s.UpdateRevision, 64), meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	switch {
	case g.DeletionTimestamp != nil:
		return Progress{Waits: true, Text: "The VmGroup is being deleted."}
	case s.ObservedGeneration < g.Generation:
		return Progress{Text: fmt.Sprintf("The operator has not seen generation %d yet.", g.Generation)}
	}
	for _, condition := range []string{v1alpha1.ConditionPaused, v1alpha1.ConditionStalled} {
		if c := meta.FindStatusCondition(s.Conditions, condition); c != nil && c.Status == metav1.ConditionTrue {
			return Progress{Waits: true, Text: conditions.Reason(c) + ": " + conditions.Message(c)}
		}
	}
	done := fmt.Sprintf("revision %s: %d of %d VMs updated, %d ready", revision, s.UpdatedReplicas, s.DesiredReplicas, s.ReadyReplicas)
	switch c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionUpToDate); {
	case c == nil || c.Status == metav1.ConditionTrue:
		if ready != nil && ready.Status == metav1.ConditionTrue {
			return Progress{Complete: true, Text: fmt.Sprintf("complete: %s, with revision %s and ready", term.Count(int(s.DesiredReplicas), "VM"), revision)}
		}
		return Progress{Text: done}
	default:
		waits := c.Reason == v1alpha1.ReasonRolloutPaused || c.Reason == v1alpha1.ReasonRolloutStopped
		return Progress{Waits: waits, Text: done + ". " + conditions.Reason(c) + ": " + conditions.Message(c)}
	}
}

// NoRevisionError reports that a group has no revision to return to.
type NoRevisionError struct {
	// Wanted is the revision that was asked for, or empty.
	Wanted string
	// Recorded are the revisions of status.
	Recorded []string
}

// Error implements error.
func (e *NoRevisionError) Error() string {
	if e.Wanted != "" {
		return fmt.Sprintf("status does not have revision %q, but %q", e.Wanted, e.Recorded)
	}
	return "status has no earlier revision than that of spec"
}

// Undo returns the group with the spec of an earlier revision: of the wanted one, or else of the one that all VMs had before the update, or else of the one
// before the last. The number of VMs does not change, and no disk shrinks. The error is a [*NoRevisionError].
func Undo(g *v1alpha1.VmGroup, wanted string) (*v1alpha1.VmGroup, error) {
	s := &g.Status
	if wanted == "" {
		wanted = earlier(s)
	}
	failure := &NoRevisionError{Wanted: wanted}
	for _, r := range s.Revisions {
		failure.Recorded = append(failure.Recorded, r.Revision)
		if r.Revision != wanted || wanted == "" {
			continue
		}
		undone := g.DeepCopy()
		spec := &undone.Spec
		spec.SetShape(r.VMShape)
		keepSizes(spec.Disks, g.Spec.Disks)
		if spec.UpdateStrategy == nil && r.ReplaceTrigger != "" {
			spec.UpdateStrategy = &v1alpha1.UpdateStrategy{}
		}
		if spec.UpdateStrategy != nil {
			spec.UpdateStrategy.ReplaceTrigger = r.ReplaceTrigger
		}
		return undone, nil
	}
	return nil, failure
}

// keepSizes raises sizes of disks to present ones: the API refuses smaller disks, and existing VMs could not get them.
func keepSizes(disks, present *v1alpha1.Disks) {
	if disks == nil || present == nil {
		return
	}
	if disks.Root != nil && present.Root != nil {
		disks.Root.SizeGiB = max(disks.Root.SizeGiB, present.Root.SizeGiB)
	}
	for i := range disks.Data {
		for _, d := range present.Data {
			if d.Name == disks.Data[i].Name {
				disks.Data[i].SizeGiB = max(disks.Data[i].SizeGiB, d.SizeGiB)
			}
		}
	}
}

// earlier returns the revision before that of spec, or "". The revision of adopted VMs is that of no spec.
func earlier(s *v1alpha1.VmGroupStatus) string {
	current := func(r v1alpha1.Revision) bool { return r.Revision == s.CurrentRevision }
	if s.CurrentRevision != s.UpdateRevision && s.CurrentRevision != "" && !slices.ContainsFunc(s.AdoptedRevisions, current) {
		return s.CurrentRevision
	}
	for _, r := range slices.Backward(s.Revisions) {
		if r.Revision != s.UpdateRevision {
			return r.Revision
		}
	}
	return ""
}
