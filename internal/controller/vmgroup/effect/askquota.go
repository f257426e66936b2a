package effect

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
)

// Policies are the compiled policies of the hub.
type Policies interface {
	// Policies returns false until the policies have been read. It reads memory.
	Policies(ctx context.Context) (*policy.Set, bool)
}

// Quotas grant growth. *quota.Ledger implements it.
type Quotas interface {
	Ask(ctx context.Context, c quota.Claim) quota.Answer
	Surplus(key quota.Key, holds, wants policy.Usage) (needs policy.Usage, some bool)
	GiveBack(key quota.Key, holds, needs policy.Usage, epoch v1alpha1.Epoch)
	Leave(key quota.Key, left policy.Usage)
}

// quotaKey is the key of a group in the ledger of quotas.
func quotaKey(s *group.Snapshot) quota.Key { return quota.Key{Member: s.Member, UID: s.Group.UID} }

// askQuota returns surplus quota to the ledger, and claims what spec needs.
type askQuota struct {
	policies Policies
	quotas   Quotas
}

// Do implements Effect.
func (a askQuota) Do(ctx context.Context, p *Pass, s *group.Snapshot, d group.Decision) (Outcome, error) {
	if a.quotas == nil {
		s.Quota = a.withoutLedger(ctx, s, d.Quota)
	} else {
		s.Quota = a.ask(ctx, p, s, d.Quota)
	}
	return Outcome{}, nil
}

func (a askQuota) ask(ctx context.Context, p *Pass, s *group.Snapshot, q group.QuotaQuestion) *group.QuotaAnswer {
	answer := &group.QuotaAnswer{}
	if set, ok := a.policies.Policies(ctx); ok {
		answer.Free = set.Unlimited(s.Requester)
	}
	if q.Returns {
		returned, later := a.giveBack(ctx, p, s, q)
		answer.Returned, answer.Unwatched = returned, later
	}
	if !q.Claims {
		return answer
	}
	granted := a.quotas.Ask(ctx, quota.Claim{
		Group: quota.Group{UID: s.Group.UID, Name: s.Group.Name, Requester: s.Requester, Holds: q.Holds, Granted: q.Granted},
		Spec:  s.Group.Spec, Wants: q.Wants, Surges: q.Surges, Epoch: s.Epoch,
	})
	answer.Waiting, answer.Wait, answer.Violations = granted.Outcome == quota.Waiting, granted.Wait, granted.Violations
	answer.Granted, answer.Surge, answer.Short = granted.Outcome == quota.Granted, int32(granted.Surge), granted.Short
	if granted.Outcome == quota.Unavailable {
		answer.Unavailable = granted.Problem
	}
	answer.Unwatched = answer.Unwatched || granted.Problem != ""
	return answer
}

// withoutLedger grants everything if no quota applies, and no growth otherwise.
func (a askQuota) withoutLedger(ctx context.Context, s *group.Snapshot, q group.QuotaQuestion) *group.QuotaAnswer {
	answer := &group.QuotaAnswer{}
	set, ok := a.policies.Policies(ctx)
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

// giveBack returns surplus quota of the group to the ledger. It reads the group from the API server first: a cache can miss
// actions of a former holder of the group. It reports whether it returned quota, and whether a surplus is left for later.
func (a askQuota) giveBack(ctx context.Context, p *Pass, s *group.Snapshot, q group.QuotaQuestion) (returned, later bool) {
	wants := q.Wants
	if n := len(q.Surges); n > 0 {
		wants = wants.Max(q.Surges[n-1])
	}
	needs, some := a.quotas.Surplus(quotaKey(s), q.Occupies, wants)
	if !some {
		return false, false
	}
	live := &v1alpha1.VmGroup{}
	readCtx, cancel := context.WithTimeout(ctx, memberapi.Timeout)
	defer cancel()
	err := p.Live.Get(readCtx, client.ObjectKeyFromObject(s.Group), live)
	if err == nil && live.UID == s.Group.UID && live.ResourceVersion == s.Group.ResourceVersion {
		a.quotas.GiveBack(quotaKey(s), q.Occupies, needs, s.Epoch)
		return true, false
	}
	reason := "the cache is behind"
	if err != nil {
		reason = "read the group: " + memberapi.ErrorText(err)
	}
	log.FromContext(ctx).Info("Quota is given back later", "reason", reason)
	return false, true
}
