package quota

import (
	"context"

	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotametrics"
)

// bytesOfGiB converts memory and storage from GiB, the unit of policies, to bytes.
const bytesOfGiB = 1 << 30

// HeldByVCenter implements quotametrics.Source.
func (l *Ledger) HeldByVCenter() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unseen.counted
}

// Fills implements quotametrics.Source. A quota with a total for each namespace shows the fullest one: the limit is the same for all.
func (l *Ledger) Fills() []quotametrics.Fill {
	set, ok := l.opts.Lister.Policies(context.Background())
	if !ok {
		return nil
	}
	used := l.fullest(set)
	var fills []quotametrics.Fill
	for _, p := range set.Policies() {
		if !p.HasQuota() {
			continue
		}
		is, limits := used[p.Name()], p.QuotaLimits()
		for _, d := range []struct {
			resource string
			used     int64
			hard     *int64
			unit     float64
		}{
			{"groups", is.Groups, limits.Groups, 1}, {"vms", is.VMs, limits.VMs, 1},
			{"cpu", is.CPU, limits.CPU, 1}, {"memory_bytes", is.Memory, limits.Memory, bytesOfGiB},
			{"storage_bytes", is.Storage, limits.Storage, bytesOfGiB},
		} {
			if d.hard != nil {
				fills = append(fills, quotametrics.Fill{Policy: p.Name(), Resource: d.resource, Used: float64(d.used) * d.unit, Hard: float64(*d.hard) * d.unit})
			}
		}
	}
	return fills
}

// fullest returns the largest total of each policy, in each dimension.
func (l *Ledger) fullest(set *policy.Set) map[string]policy.Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	used := map[string]policy.Usage{}
	for _, b := range l.books {
		if !b.known {
			continue
		}
		// The key of a total does not contain its policy. An entry reveals the policy, which never changes.
		if b.policy == "" {
			b.policy = policyOf(b, set)
		}
		if b.policy != "" {
			used[b.policy] = used[b.policy].Max(b.totals[b.key])
		}
	}
	return used
}

// policyOf returns the name of a total's policy, or "" without entries.
func policyOf(b *book, set *policy.Set) string {
	for id, e := range b.stored.State.all() {
		for _, p := range set.Policies() {
			if p.HasQuota() && keyOf(p, policy.Requester{Member: id.Member, Namespace: e.Namespace}) == b.key {
				return p.Name()
			}
		}
		return ""
	}
	return ""
}
