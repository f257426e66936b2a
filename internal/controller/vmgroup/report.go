package vmgroup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// report writes status if it changed. A change that nothing depends on may be held back for a while; the time
// until then is returned. The error may be a conflict.
func (p *pass) report(ctx context.Context, res resolution, observation vsphere.Observation, decided plan.Plan, folderErr error) (time.Duration, error) {
	f := facts{
		old: p.base.Status, name: p.group.Name, generation: p.group.Generation, spec: p.group.Spec, now: p.now,
		deleting: p.deleting(), plan: decided,
		complete: observation.Complete, incomplete: observation.Incomplete, unavailable: res.unavailable,
		vcenter: res.vcenter, folder: p.group.Status.Folder, hold: p.hold, epoch: v1alpha1.Epoch(p.epoch),
		createBlocked: res.createBlocked,
	}
	if folderErr != nil {
		f.failure = &plan.Blocker{Message: folderErr.Error()}
		f.failure.Reason, f.failure.Terminal = plan.Explain(folderErr)
	}
	next := newStatus(f)
	if !p.acting && sameButOwnership(p.base.Status, next) || equality.Semantic.DeepEqual(p.base.Status, next) {
		return 0, nil
	}
	if !urgent(p.base.Status, next) {
		if wait := p.r.writes.wait(p.group.UID, p.now); wait > 0 {
			return wait, nil
		}
	}
	return 0, p.writeStatus(ctx, next)
}

// sameButOwnership: a takeover alone is nothing to write about. With something to do it is: the write is also what finds
// out that the cache is behind the former holder's last one.
func sameButOwnership(old, next v1alpha1.VmGroupStatus) bool {
	next.Ownership = old.Ownership
	return equality.Semantic.DeepEqual(old, next)
}

// reportBlocked writes a status that changes conditions, phase and message only.
func (p *pass) reportBlocked(ctx context.Context, blocker plan.Blocker) error {
	f := facts{
		old: p.base.Status, name: p.group.Name, generation: p.group.Generation, spec: p.group.Spec, now: p.now,
		deleting: p.deleting(), complete: false, incomplete: blocker.Message, failure: &blocker,
		vcenter: vcenterOf(p.group), folder: p.group.Status.Folder, epoch: v1alpha1.Epoch(p.epoch),
	}
	next := newStatus(f)
	next.DesiredReplicas = p.base.Status.DesiredReplicas
	meta.RemoveStatusCondition(&next.Conditions, v1alpha1.ConditionVCenterReachable)
	meta.RemoveStatusCondition(&next.Conditions, v1alpha1.ConditionPolicyCompliant)
	if equality.Semantic.DeepEqual(p.base.Status, next) {
		return nil
	}
	return p.writeStatus(ctx, next)
}

// writeStatus patches status with an optimistic lock: a controller that was overtaken, or decided on an old
// object, fails here, before vCenter is asked for anything.
func (p *pass) writeStatus(ctx context.Context, next v1alpha1.VmGroupStatus) error {
	p.group.Status = next
	patch := client.MergeFromWithOptions(p.base, client.MergeFromWithOptimisticLock{})
	writeCtx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if p.vanished != nil {
		p.r.vanished.store(p.group)
	} else if err := p.client.Status().Patch(writeCtx, p.group, patch); err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	p.r.writes.wrote(p.group.UID, p.group.ResourceVersion, p.now)
	for _, t := range transitions(p.base.Status, next) {
		log.FromContext(ctx).Info("Group changed", "reason", t.reason, "message", t.note)
		p.event(t.eventType, t.reason, t.action, t.note)
	}
	return nil
}

// urgent reports whether something depends on next being stored: an intent, an ordinal's identity, or a
// verdict that people and tools wait for.
func urgent(old, next v1alpha1.VmGroupStatus) bool {
	if old.ObservedGeneration != next.ObservedGeneration || old.Phase != next.Phase ||
		!slices.Equal(old.Deleting, next.Deleting) || !equality.Semantic.DeepEqual(old.Admitted, next.Admitted) || !equality.Semantic.DeepEqual(old.Folder, next.Folder) ||
		!equality.Semantic.DeepEqual(old.Ownership, next.Ownership) {
		return true
	}
	for _, conditionType := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionStalled, v1alpha1.ConditionVCenterReachable} {
		if conditionStatus(old, conditionType) != conditionStatus(next, conditionType) {
			return true
		}
	}
	intents := map[int32]string{}
	for _, vm := range old.VMs {
		intents[vm.Ordinal] = vm.UUID
	}
	for _, vm := range next.VMs {
		if vm.MoRef == "" && intents[vm.Ordinal] != vm.UUID {
			return true
		}
	}
	return false
}

func conditionStatus(s v1alpha1.VmGroupStatus, conditionType string) metav1.ConditionStatus {
	if c := meta.FindStatusCondition(s.Conditions, conditionType); c != nil {
		return c.Status
	}
	return ""
}
