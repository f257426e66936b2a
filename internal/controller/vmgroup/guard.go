package vmgroup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// quotaNet is when a group whose claim is on its way is looked at in any case; it is notified before.
const quotaNet = time.Second

// judge says what there is to say about the group's spec, except by quotas. It comes before anything else is planned with.
func (p *pass) judge(ctx context.Context, res resolution, observation vsphere.Observation) policy.Verdicts {
	spec := &p.group.Spec
	v := policy.Verdicts{
		Spec: *spec, Revision: p.revision, Admitted: p.group.Status.Admitted, Existing: p.existing(observation),
		Denials:    res.denials,
		Unresolved: res.unresolved || res.unavailable != nil || res.server == nil || spec.CPU < 1 || spec.Memory < 1,
	}
	if spec.UserDataSecretRef != nil && p.member.UserDataSecrets != v1alpha1.UserDataAllow {
		// Of a group that has an admitted shape this is a change that is refused; any other says so when it clones.
		if v.Unresolved = true; shaped(v.Admitted) {
			v.Denials = append(slices.Clip(v.Denials), userDataDenial(p.member.Name))
		}
	}
	set, err := p.r.policies.get(ctx, p.r.Hub)
	if err != nil {
		v.Unavailable = "The VmGroupPolicies on the hub cannot be read: " + err.Error()
		return v
	}
	if p.imagined {
		v.Violations = set.Evaluate(res.requester, *spec, res.template.Path)
	} else {
		v.Violations = p.r.policies.evaluate(set, p.group.UID, res.requester, spec, res.template.Path)
	}
	if res.templateMissing && len(res.denials) == 0 {
		refused, kept := set.MissingTemplate(res.requester, nil, *spec, res.vcenter)
		v.Violations = append(append(v.Violations[:len(v.Violations):len(v.Violations)], refused...), kept...)
	}
	return v
}

// guard says how far the group may follow its spec. waiting is true when a quota has still to answer; the group is
// notified then.
func (p *pass) guard(ctx context.Context, res resolution, observation vsphere.Observation) (hold policy.Hold, waiting bool) {
	if p.deleting() {
		if p.vanished != nil {
			return policy.Hold{Spec: p.group.Spec, Admitted: p.group.Status.Admitted}, false // it is given back at the end
		}
		p.returnQuota(ctx, observation, policy.Usage{})
		return policy.Hold{Spec: p.group.Spec, Admitted: p.group.Status.Admitted}, false
	}
	v := p.judge(ctx, res, observation)
	if v.Refused() {
		p.returnQuota(ctx, observation, policy.Usage{}) // what it may not use, others may
	} else {
		p.returnQuota(ctx, observation, policy.UsageOf(p.group.Spec))
	}
	if !v.Refused() && !v.Unresolved && v.Unavailable == "" {
		waiting = p.ask(ctx, res, &v)
	}
	return policy.Decide(v), waiting
}

// ask claims what spec needs of quotas.
func (p *pass) ask(ctx context.Context, res resolution, v *policy.Verdicts) (waiting bool) {
	claim := quota.Claim{
		Group: quota.Group{UID: p.group.UID, Name: p.group.Name, Requester: res.requester, Holds: holdsOf(p.group, v.Existing)},
		Spec:  p.group.Spec, Epoch: v1alpha1.Epoch(p.epoch),
	}
	if p.r.Quotas == nil {
		if set, ok := p.r.Policies(); ok && len(set.Quotas(res.requester)) > 0 && !claim.Holds.Covers(policy.UsageOf(claim.Spec)) {
			v.Unavailable = "This operator keeps no ledger of quotas"
		}
		return false
	}
	answer := p.r.Quotas.Ask(ctx, claim)
	v.Quota = answer.Violations
	if answer.Verdict == quota.Unavailable {
		v.Unavailable = answer.Problem
		p.unwatched = true
	}
	return answer.Verdict == quota.Waiting
}

// existing counts the ordinals that have a VM with the group's stamp or a clone under way: a copy of a VM is no other one.
func (p *pass) existing(observation vsphere.Observation) int32 {
	ordinals := map[int32]struct{}{}
	for i := range observation.VMs {
		if vm := &observation.VMs[i]; vm.Stamp != nil && vm.Stamp.GroupID == p.id && !vm.Tombstone {
			ordinals[vm.Stamp.Ordinal] = struct{}{}
		}
	}
	for _, op := range observation.InFlight {
		if op.Kind == vsphere.OpClone {
			ordinals[op.Ordinal] = struct{}{}
		}
	}
	return int32(len(ordinals))
}

// shaped reports whether VMs can be cloned from what was admitted.
func shaped(a *v1alpha1.Admitted) bool { return a != nil && a.CPU > 0 }

// apply makes the hold what this pass plans with. What the held shape names is looked up anew: it has to be there, and
// granted, for a VM that is lost to come back.
func (p *pass) apply(ctx context.Context, res *resolution, hold policy.Hold) error {
	p.hold, p.spec = hold, hold.Spec
	if hold.Reshaped {
		p.planWith(hold.Spec)
		held, err := p.resolve(ctx)
		if err != nil {
			return err
		}
		*res = held
	}
	if hold.NoCreate {
		res.createBlocked = group.BlockerOf(hold)
	}
	return nil
}

// occupies is what a group holds, or what its VMs take that are there still: what leaves counts until it is gone.
func occupies(group *v1alpha1.VmGroup) policy.Usage {
	holds, admitted := holdsOf(group, 0), group.Status.Admitted
	there := int32(len(group.Status.VMs))
	if admitted == nil || there <= admitted.Replicas {
		return holds
	}
	spec := policy.AdmittedSpec(group.Spec, *admitted)
	spec.Replicas = &there
	return holds.Max(policy.UsageOf(spec))
}

// returnQuota gives back what the group was granted and does not need any more, neither for what it has nor for what it
// wants. That is read afresh: a cache may not know yet what a former holder of the group did.
func (p *pass) returnQuota(ctx context.Context, observation vsphere.Observation, wants policy.Usage) {
	if p.r.Quotas == nil {
		return
	}
	holds := occupies(p.group)
	if !shaped(p.group.Status.Admitted) {
		// Nothing was admitted yet, or somebody wiped status: only vCenter knows what the group has.
		if !observation.Complete {
			return
		}
		holds = holdsOf(p.group, p.existing(observation))
	}
	needs, some := p.r.Quotas.Surplus(p.group.UID, holds, wants)
	if !some {
		return
	}
	live := &v1alpha1.VmGroup{}
	readCtx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := p.liveReader.Get(readCtx, client.ObjectKeyFromObject(p.group), live)
	if err == nil && live.UID == p.group.UID && live.ResourceVersion == p.group.ResourceVersion {
		p.r.Quotas.GiveBack(p.group.UID, needs, v1alpha1.Epoch(p.epoch))
		return
	}
	p.unwatched = true
	reason := "the cache is behind"
	if err != nil {
		reason = fmt.Sprintf("read the group: %v", err)
	}
	log.FromContext(ctx).Info("Quota is given back later", "reason", reason)
}
