package vmgroup

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// report writes status if it changed. A change that nothing depends on may be held back for a while; the time
// until then is returned. The error may be a conflict.
func (p *pass) report(ctx context.Context, res resolution, observation vsphere.Observation, decided plan.Plan, folderErr error) (time.Duration, error) {
	f := group.Facts{
		Old: p.base.Status, Name: p.group.Name, Generation: p.group.Generation, Spec: p.group.Spec, Now: p.now,
		Deleting: p.deleting(), Plan: decided,
		Complete: observation.Complete, Incomplete: observation.Incomplete, Unavailable: res.unavailable,
		VCenter: res.vcenter, Folder: p.group.Status.Folder, Hold: p.hold, Epoch: v1alpha1.Epoch(p.epoch),
		CreateBlocked: res.createBlocked,
	}
	if folderErr != nil {
		f.Failure = &plan.Blocker{Message: folderErr.Error()}
		f.Failure.Reason, f.Failure.Terminal = plan.Explain(folderErr)
	}
	next := f.Status()
	if !p.acting && group.SameButOwnership(p.base.Status, next) || equality.Semantic.DeepEqual(p.base.Status, next) {
		return 0, nil
	}
	if !group.Urgent(p.base.Status, next) {
		if wait := p.r.writes.wait(p.group.UID, p.now); wait > 0 {
			return wait, nil
		}
	}
	return 0, p.writeStatus(ctx, next)
}

// reportBlocked writes a status that changes conditions, phase and message only.
func (p *pass) reportBlocked(ctx context.Context, blocker plan.Blocker) error {
	f := group.Facts{
		Old: p.base.Status, Name: p.group.Name, Generation: p.group.Generation, Spec: p.group.Spec, Now: p.now,
		Deleting: p.deleting(), Complete: false, Incomplete: blocker.Message, Failure: &blocker,
		VCenter: vcenterOf(p.group), Folder: p.group.Status.Folder, Epoch: v1alpha1.Epoch(p.epoch),
	}
	next := f.Status()
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
	for _, t := range group.Events(p.base.Status, next) {
		log.FromContext(ctx).Info("Group changed", "reason", t.Reason, "message", t.Note)
		p.event(t.Type, t.Reason, t.Action, t.Note)
	}
	return nil
}

func (p *pass) event(eventType, reason, action, note string) {
	p.events.Eventf(p.group, nil, eventType, reason, action, "%s", group.Truncate(note, 1000))
}
