package model

import (
	"fmt"

	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// ledger is that of one quota, which counts VMs and virtual CPUs. Only growth needs room, and what was granted is never taken back.
type ledger struct {
	// limit of VMs and of CPUs; zero is none. others is how many VMs other groups have, each with one CPU.
	limit  Quota
	others int64
	// entry is what the group was granted.
	entry policy.Usage
	// granted is the same by the rules: what there was when the quota began, and what was granted since while there was room. The entry can be
	// more, if the operator claims to hold more than it was granted.
	granted policy.Usage
	// restored: a record or a status came back from a backup, so that granted can be more than what counts.
	restored bool
	// unread: nothing can be asked, so nothing grows.
	unread bool
}

// Quota limits VMs and CPUs; zero is no limit.
type Quota struct{ VMs, CPUs int64 }

func (l *ledger) limited() bool { return l.limit != Quota{} }

// free are the dimensions without a limit.
func (l *ledger) free() []policy.Rule {
	free := []policy.Rule{policy.RuleQuotaMemory}
	if l.limit.VMs == 0 {
		free = append(free, policy.RuleQuotaVMs)
	}
	if l.limit.CPUs == 0 {
		free = append(free, policy.RuleQuotaCPU)
	}
	return free
}

// begin counts what the group has when a quota begins.
func (l *ledger) begin(vms, cpus int64) {
	l.granted = policy.Usage{Groups: 1, VMs: vms, CPU: cpus}
	l.entry = l.granted
}

// room reports whether there is room for a usage beside that of others, in each dimension in which it is more than before.
func (l *ledger) room(before, usage policy.Usage) bool {
	vms := l.limit.VMs == 0 || usage.VMs <= before.VMs || usage.VMs+l.others <= l.limit.VMs
	cpus := l.limit.CPUs == 0 || usage.CPU <= before.CPU || usage.CPU+l.others <= l.limit.CPUs
	return vms && cpus
}

// ask answers a question of a pass.
func (l *ledger) ask(q group.QuotaQuestion) *group.QuotaAnswer {
	answer := &group.QuotaAnswer{Free: l.free()}
	if !l.limited() {
		if q.Claims {
			answer.Granted, answer.Surge = true, int32(len(q.Surges))
		}
		return answer
	}
	if q.Returns && !l.unread {
		l.giveBack(q)
	}
	if !q.Claims {
		return answer
	}
	has := l.entry.Max(q.Granted)
	if l.unread {
		if answer.Granted = has.Covers(q.Wants); !answer.Granted {
			answer.Unavailable = "The quota cannot be read"
		}
		if n := len(q.Surges); n > 0 && !has.Covers(q.Surges[n-1]) {
			answer.Short = "The quota cannot be read"
		} else {
			answer.Surge = int32(n)
		}
		return answer
	}
	if !l.room(has, q.Wants) {
		l.enter(has)
		answer.Violations = []policy.Violation{{
			Field: "spec.replicas", Value: int32(q.Wants.VMs), Policy: "shop", Rule: policy.RuleQuotaVMs, Enforced: true,
			Detail: fmt.Sprintf("exceeds the quota of %d VMs and %d CPUs: others have %d", l.limit.VMs, l.limit.CPUs, l.others),
		}}
		return answer
	}
	answer.Granted = true
	grant := q.Wants
	for _, more := range q.Surges {
		if !l.room(has, more) {
			answer.Short = fmt.Sprintf("the quota of %d VMs and %d CPUs has no room", l.limit.VMs, l.limit.CPUs)
			break
		}
		answer.Surge++
		grant = more
	}
	if l.room(l.granted, grant) {
		l.granted = l.granted.Max(grant)
	}
	l.enter(has.Max(grant))
	return answer
}

func (l *ledger) enter(u policy.Usage) { l.entry = l.entry.Max(u) }

// giveBack lowers the entry to what the group has and wants.
func (l *ledger) giveBack(q group.QuotaQuestion) {
	needs := q.Occupies.Max(q.Wants)
	if n := len(q.Surges); n > 0 {
		needs = needs.Max(q.Surges[n-1])
	}
	lower := func(u policy.Usage) policy.Usage {
		return policy.Usage{Groups: min(u.Groups, needs.Groups), VMs: min(u.VMs, needs.VMs), CPU: min(u.CPU, needs.CPU), Memory: min(u.Memory, needs.Memory)}
	}
	l.entry, l.granted = lower(l.entry), lower(l.granted)
}

// adopted counts VMs that were another group's, which was charged for them, beside what the group has and what is being cloned for it.
func (l *ledger) adopted(v *vcenter) {
	vms, cpus := v.charged()
	l.granted = l.granted.Max(policy.Usage{Groups: 1, VMs: vms, CPU: cpus + v.coming()})
	l.enter(l.granted)
}
