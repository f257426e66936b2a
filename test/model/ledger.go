package model

import (
	"fmt"

	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// ledger is the ledger of one quota, which counts VMs and virtual CPUs. Only growth needs room. A grant is never revoked.
type ledger struct {
	// limit of VMs and of CPUs. Zero means no limit. others is the number of VMs of other groups, each with one CPU.
	limit  Quota
	others int64
	// entry is the group's granted usage.
	entry policy.Usage
	// granted is the granted usage by the rules: the usage at the quota's beginning, and grants while there was room. entry can be greater,
	// if the operator claims more than it was granted.
	granted policy.Usage
	// restored means that a record or a status was restored from a backup, so that granted can exceed the counted usage.
	restored bool
	// unread means that the ledger cannot be queried, so nothing grows.
	unread bool
}

// Quota limits VMs and CPUs. Zero means no limit.
type Quota struct{ VMs, CPUs int64 }

func (l *ledger) limited() bool { return l.limit != Quota{} }

// free returns the dimensions without a limit.
func (l *ledger) free() []policy.Rule {
	free := []policy.Rule{policy.RuleQuotaMemory, policy.RuleQuotaStorage}
	if l.limit.VMs == 0 {
		free = append(free, policy.RuleQuotaVMs)
	}
	if l.limit.CPUs == 0 {
		free = append(free, policy.RuleQuotaCPU)
	}
	return free
}

// begin counts the group's usage when a quota begins.
func (l *ledger) begin(vms, cpus int64) {
	l.granted = policy.Usage{Groups: 1, VMs: vms, CPU: cpus}
	l.entry = l.granted
}

// room reports whether a usage fits beside that of others, in each dimension in which it grows.
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

// giveBack lowers the entry to the group's present and wanted usage.
func (l *ledger) giveBack(q group.QuotaQuestion) {
	needs := q.Occupies.Max(q.Wants)
	if n := len(q.Surges); n > 0 {
		needs = needs.Max(q.Surges[n-1])
	}
	l.entry, l.granted = l.entry.Min(needs), l.granted.Min(needs)
}

// adopted counts adopted VMs, which were charged to another group, in addition to the group's VMs and its running clones.
func (l *ledger) adopted(v *vcenter) {
	vms, cpus := v.charged()
	l.granted = l.granted.Max(policy.Usage{Groups: 1, VMs: vms, CPU: cpus + v.coming()})
	l.enter(l.granted)
}
