package vmgroup

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// carryOut does what a decision asks for. It adds what came of it to the snapshot, or reports that the pass ends. refused is true
// when vCenter refused something, so that it is to be tried again. Errors are those of Kubernetes' API.
func (p *pass) carryOut(ctx context.Context, s *group.Snapshot, d group.Decision) (end, refused bool, err error) {
	switch d.Step {
	case group.RaiseEpoch:
		err = p.raiseEpoch(ctx, s)
	case group.RemoveLegacyFinalizer:
		return false, false, p.patchFinalizers(ctx, s, controllerutil.RemoveFinalizer, v1alpha1.LegacyFinalizer)
	case group.AddFinalizer:
		p.r.vanished.claiming(s.ID.Key(), s.Group, p.member.Restores, p.now)
		return false, false, p.patchFinalizers(ctx, s, controllerutil.AddFinalizer, v1alpha1.VmGroupFinalizer)
	case group.LookAtDefinition:
		s.Definition = p.lookAtDefinition(ctx, s)
		return false, false, nil
	case group.ClaimAdoption:
		s.Adoption.Answer, err = p.claimAdoption(ctx, s)
		return false, false, err
	case group.MakeFolder:
		s.FolderMade = &group.Attempt{Err: p.makeFolder(ctx, s)}
		return false, false, nil
	case group.AskQuota:
		s.Quota = p.askQuota(ctx, s, d.Quota)
		return false, false, nil
	case group.ReadUserData:
		s.UserData, err = p.readSecrets(ctx, s, d.Secrets)
		return false, false, err
	case group.RemoveFolder:
		s.FolderRemoved = &group.Attempt{Err: p.removeFolder(ctx, s)}
		return false, false, nil
	case group.WriteReceipt:
		s.Receipt, err = p.writeReceipt(ctx, s, *d.Receipt)
		return false, false, err
	case group.PutRecord:
		s.Recorded, err = p.putRecord(ctx, s, d.Record)
		return false, false, err
	case group.RecordOwner, group.Report:
		return d.Step == group.Report, false, p.writeStatus(ctx, s, d)
	case group.Act:
		// Intents are stored before slots are taken: a member that answers slowly must not hold tasks that others could run.
		if d.AdoptionEnds && s.Adoption.Answer != nil {
			p.endAdoption(ctx, s)
		}
		if err = p.writeStatus(ctx, s, d); err == nil {
			refused = p.submitPlan(ctx, s, d)
		}
	case group.Release:
		err = p.release(ctx, s, d)
	case group.Wait:
	}
	return true, refused, err
}

// raiseEpoch tells the shards of the highest epoch that a group of the member shows and that can be believed. The others would ask in
// turn, and each would cost all members a raise.
func (p *pass) raiseEpoch(ctx context.Context, s *group.Snapshot) error {
	shown := s.Group.Status.Ownership.Epoch
	above := shown.Generation
	if above > s.Raised.Above {
		// One pass at a time looks at all groups, and none copies them: a member can have as many groups as the cache holds, each with a higher epoch.
		p.r.raising.Lock()
		defer p.r.raising.Unlock()
		if p.r.memory.raised(p.member.UID) != s.Raised {
			return nil // another pass has looked meanwhile, and the next pass decides with what it found
		}
		var groups v1alpha1.VmGroupList
		if err := p.cache.List(ctx, &groups, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list VmGroups in the cache: %w", err)
		}
		for i := range groups.Items {
			if o := groups.Items[i].Status.Ownership; o != nil && o.Epoch.Generation-s.Epoch.Generation <= protocol.MaxRaise {
				above = max(above, o.Epoch.Generation)
			}
		}
		log.FromContext(ctx).Info("Status carries a later epoch than the ring gives; the ring's generation is raised", "epoch", shown, "above", above)
		p.r.memory.raise(p.member.UID, group.Raise{Above: above, At: p.now})
	}
	p.r.Shards.Raise(sharding.Epoch{Generation: above})
	return nil
}

// makeFolder makes sure that the group's folder exists. Its reference goes into status with the intent to clone.
func (p *pass) makeFolder(ctx context.Context, s *group.Snapshot) error {
	folder, err := p.server.EnsureFolder(ctx, s.FolderPath())
	if err != nil {
		log.FromContext(ctx).Error(err, "Could not create the group's folder")
		return err
	}
	s.Folder = &v1alpha1.FolderStatus{Path: folder.Path, MoRef: folder.Ref.Value}
	return nil
}

// removeFolder removes the group's folder, unless something is in it.
func (p *pass) removeFolder(ctx context.Context, s *group.Snapshot) error {
	err := p.server.DestroyFolder(ctx, vsphere.FolderRef(s.Folder.MoRef))
	if err != nil {
		log.FromContext(ctx).Error(err, "Could not remove the group's folder")
	}
	return err
}

// askQuota gives back what is not needed, and claims what spec needs.
func (p *pass) askQuota(ctx context.Context, s *group.Snapshot, q group.QuotaQuestion) *group.QuotaAnswer {
	if p.r.Quotas == nil {
		return p.withoutLedger(ctx, s, q)
	}
	answer := &group.QuotaAnswer{}
	if set, ok := p.r.Policies(ctx); ok {
		answer.Free = set.Unlimited(s.Requester)
	}
	if q.Returns {
		returned, later := p.returnQuota(ctx, s, q)
		answer.Returned, answer.Unwatched = returned, later
	}
	if !q.Claims {
		return answer
	}
	said := p.r.Quotas.Ask(ctx, quota.Claim{
		Group: quota.Group{UID: s.Group.UID, Name: s.Group.Name, Requester: s.Requester, Holds: q.Holds, Granted: q.Granted},
		Spec:  s.Group.Spec, Wants: q.Wants, Surges: q.Surges, Epoch: s.Epoch,
	})
	answer.Waiting, answer.Wait, answer.Violations = said.Outcome == quota.Waiting, said.Wait, said.Violations
	answer.Granted, answer.Surge, answer.Short = said.Outcome == quota.Granted, int32(said.Surge), said.Short
	if said.Outcome == quota.Unavailable {
		answer.Unavailable = said.Problem
	}
	answer.Unwatched = answer.Unwatched || said.Problem != ""
	return answer
}

// withoutLedger grants all where no quota holds, and nothing else.
func (p *pass) withoutLedger(ctx context.Context, s *group.Snapshot, q group.QuotaQuestion) *group.QuotaAnswer {
	answer := &group.QuotaAnswer{}
	set, ok := p.r.Policies(ctx)
	if ok {
		answer.Free = set.Unlimited(s.Requester)
	}
	if !q.Claims {
		return answer
	}
	if ok && len(set.Quotas(s.Requester)) == 0 {
		answer.Granted, answer.Surge = true, int32(len(q.Surges))
		return answer
	}
	const noLedger = "This operator keeps no ledger of quotas"
	if answer.Granted = q.Granted.Covers(q.Wants); !answer.Granted {
		answer.Unavailable = noLedger
	}
	if len(q.Surges) > 0 {
		answer.Short = noLedger
	}
	return answer
}

// returnQuota gives back what the group was granted and does not need any more. Whether it does is read afresh: a cache may not know
// yet what a former holder of the group did. It reports whether something was given back, and whether something is left for later.
func (p *pass) returnQuota(ctx context.Context, s *group.Snapshot, q group.QuotaQuestion) (returned, later bool) {
	wants := q.Wants
	if n := len(q.Surges); n > 0 {
		wants = wants.Max(q.Surges[n-1])
	}
	needs, some := p.r.Quotas.Surplus(quotaKey(s), q.Occupies, wants)
	if !some {
		return false, false
	}
	live := &v1alpha1.VmGroup{}
	readCtx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := p.live.Get(readCtx, client.ObjectKeyFromObject(s.Group), live)
	if err == nil && live.UID == s.Group.UID && live.ResourceVersion == s.Group.ResourceVersion {
		p.r.Quotas.GiveBack(quotaKey(s), needs, s.Epoch)
		return true, false
	}
	reason := "the cache is behind"
	if err != nil {
		reason = "read the group: " + said(err)
	}
	log.FromContext(ctx).Info("Quota is given back later", "reason", reason)
	return false, true
}

// writeStatus stores status, if there is one to store, with an optimistic lock: a controller that was overtaken, or decided on an old
// object, fails here, before vCenter is asked for anything.
func (p *pass) writeStatus(ctx context.Context, s *group.Snapshot, d group.Decision) error {
	if d.Status == nil {
		return nil
	}
	next := s.Group.DeepCopy()
	next.Status = *d.Status
	if err := p.store.writeStatus(ctx, s.Group, next); err != nil {
		return err
	}
	p.r.memory.change(p.object(s), func(m *remembered) {
		m.tenure, m.resourceVersion, m.restores, m.reported, m.written = p.tenure, next.ResourceVersion, p.member.Restores, p.now, true
	})
	p.r.Metrics.Written(s.VCenter, s.ID.Key(), &s.Group.Status, &next.Status, s.Observation.VMs, p.now)
	s.Group, s.Written = next, true
	p.tell(ctx, s, d.Events)
	return nil
}

func (p *pass) patchFinalizers(ctx context.Context, s *group.Snapshot, change func(client.Object, string) bool, finalizer string) (err error) {
	if s.Group, err = p.api.patchFinalizers(ctx, s.Group, change, finalizer); err == nil {
		s.Written = true
	}
	return err
}

func (p *pass) tell(ctx context.Context, s *group.Snapshot, events []group.Event) {
	for _, e := range events {
		if values := []any{"vcenter", s.VCenter, "reason", e.Reason}; e.Type == corev1.EventTypeWarning {
			log.FromContext(ctx).Error(errors.New(e.Note), "Group changed", values...)
		} else {
			log.FromContext(ctx).Info("Group changed", append(values, "message", e.Note)...)
		}
		p.events.Eventf(s.Group, nil, e.Type, e.Reason, e.Action, "%s", e.Note)
	}
}

// release lets the group go, and forgets what was asked of vCenter and quotas for it.
func (p *pass) release(ctx context.Context, s *group.Snapshot, d group.Decision) error {
	p.tell(ctx, s, d.Events)
	if err := p.store.release(ctx, s.Group); err != nil {
		return err
	}
	if s.Receipt != nil {
		p.tellHub(ctx, s)
	}
	if p.server != nil {
		p.server.Forget(s.ID.Key())
	}
	p.r.HubWrites.Spend(p.member.UID, writebudget.Record, p.r.Records.Drop(recordKey(p.member, s.ID.Key())))
	// Where the vCenter is not seen, it is status alone that shows no VMs: the ledger keeps the entry until vCenters show what is left.
	if p.r.Quotas != nil && (s.Unavailable == nil || s.Receipt != nil) {
		p.r.Quotas.GiveBack(quotaKey(s), s.Leaves(), s.Epoch)
	}
	return nil
}
