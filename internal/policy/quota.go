package policy

import (
	"fmt"
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// quota limits totals; nil means no limit.
type quota struct {
	groups, vms, cpu, memory, storage *int64
	together, retain                  bool
}

// quotaOf also returns the error of a quota, or "".
func quotaOf(spec *v1alpha1.PolicyQuota) (*quota, string) {
	if spec == nil || spec.Groups == nil && spec.VMs == nil && spec.CPU == nil && spec.Memory == nil && spec.Storage == nil {
		return nil, ""
	}
	q := &quota{
		groups: widen(spec.Groups), vms: widen(spec.VMs), cpu: spec.CPU,
		together: spec.Scope == v1alpha1.QuotaMatch, retain: spec.Retain == v1alpha1.RetainAllow,
	}
	for _, d := range []struct {
		name   string
		amount *v1alpha1.Amount
		limit  **int64
	}{{"memory", spec.Memory, &q.memory}, {"storage", spec.Storage, &q.storage}} {
		if d.amount == nil {
			continue
		}
		gib, problem := floorGiB(*d.amount)
		if problem != "" {
			return q, "quota." + d.name + ": " + problem
		}
		*d.limit = &gib
	}
	return q, ""
}

// Quotas returns the policies with a quota that apply to a requester, in the order of [Set.Matching].
func (s *Set) Quotas(r Requester) []*Policy {
	var out []*Policy
	for _, p := range s.policies {
		if p.quota != nil && p.Matches(r) {
			out = append(out, p)
		}
	}
	return out
}

// Use is a policy with a quota, and the usage that counts in it. Used is nil while it is not known.
type Use struct {
	*Policy
	Used *Usage
}

// Unlimited returns the dimensions (VMs, CPU, memory, storage) that no enforced quota of a requester limits. An unusable policy limits all.
func (s *Set) Unlimited(r Requester) []Rule {
	free := []Rule{RuleQuotaVMs, RuleQuotaCPU, RuleQuotaMemory, RuleQuotaStorage}
	for _, p := range s.Quotas(r) {
		if p.Enforced() {
			free = slices.DeleteFunc(free, func(rule Rule) bool { return p.problem != "" || p.quota.limits(rule) })
		}
	}
	return free
}

// limits reports whether the quota has a limit in a dimension.
func (q *quota) limits(rule Rule) bool {
	switch rule {
	case RuleQuotaVMs:
		return q.vms != nil
	case RuleQuotaCPU:
		return q.cpu != nil
	case RuleQuotaMemory:
		return q.memory != nil
	case RuleQuotaStorage:
		return q.storage != nil
	default:
		return false
	}
}

// Retained returns the violations of a group that would leave VMs behind: one for each policy with a quota that does not allow it. old is the
// previous spec, or nil for a new group. refused and kept are as in [Set.EvaluateUpdate].
func (s *Set) Retained(r Requester, old *v1alpha1.VmGroupSpec, spec v1alpha1.VmGroupSpec) (refused, kept []Violation) {
	if spec.DeletionPolicy != v1alpha1.DeletionRetain {
		return nil, nil
	}
	worse := old == nil || old.DeletionPolicy != v1alpha1.DeletionRetain || replicasOf(&spec) > replicasOf(old)
	for _, p := range s.Quotas(r) {
		if p.quota.retain {
			continue
		}
		v := Violation{
			Field: "spec.deletionPolicy", Value: string(spec.DeletionPolicy), Policy: p.name, Rule: RuleQuotaRetain, Enforced: p.Enforced(),
			Detail: fmt.Sprintf("is not allowed under the quota of VmGroupPolicy %q, whose VMs would still count after the group is deleted", p.name),
		}
		switch {
		case p.Enforced() && worse:
			refused = append(refused, v)
		case p.Enforced() || worse:
			kept = append(kept, v)
		}
	}
	return refused, kept
}

// CountsTogether reports whether the groups of all namespaces that the policy matches share one quota.
func (p *Policy) CountsTogether() bool { return p.quota != nil && p.quota.together }

// QuotaScope is the key of a total: groups with the same key share one total of this policy. Keys of different policies are unrelated.
func (p *Policy) QuotaScope(r Requester) string {
	if p.CountsTogether() {
		return "match"
	}
	return "namespace/" + r.Member + "/" + r.Namespace
}

// Exceeded reports whether the usage exceeds the policy's quota.
func (p *Policy) Exceeded(used Usage) bool {
	if p.quota == nil {
		return false
	}
	over := func(limit *int64, used int64) bool { return limit != nil && used > *limit }
	return over(p.quota.groups, used.Groups) || over(p.quota.vms, used.VMs) || over(p.quota.cpu, used.CPU) || over(p.quota.memory, used.Memory) ||
		over(p.quota.storage, used.Storage)
}

// CheckQuota returns the violations of the policy's quota if a group of this name gets spec. want is the usage of the group then, at least [UsageOf]
// spec. granted is the usage that the group already has, or zero for a new one: a dimension that does not grow is never refused. usedByOthers is the
// usage of all other groups of the same [Policy.QuotaScope].
func (p *Policy) CheckQuota(r Requester, name string, spec v1alpha1.VmGroupSpec, want, granted, usedByOthers Usage) []Violation {
	if p.quota == nil {
		return nil
	}
	where := fmt.Sprintf(" in namespace %q", r.Namespace)
	if p.quota.together {
		where = " over all that it matches"
	}
	var violations []Violation
	for _, d := range []struct {
		rule                Rule
		field               string
		value               any
		limit               *int64
		unit                string
		want, granted, used int64
		product             bool
	}{
		{RuleQuotaGroups, "metadata.name", name, p.quota.groups, "groups", want.Groups, granted.Groups, usedByOthers.Groups, false},
		{RuleQuotaVMs, "spec.replicas", replicasOf(&spec), p.quota.vms, "VMs", want.VMs, granted.VMs, usedByOthers.VMs, false},
		{RuleQuotaCPU, "spec.cpu", spec.CPU, p.quota.cpu, "CPUs", want.CPU, granted.CPU, usedByOthers.CPU, true},
		{RuleQuotaMemory, "spec.memory", spec.Memory, p.quota.memory, "GiB", want.Memory, granted.Memory, usedByOthers.Memory, true},
		{RuleQuotaStorage, disksField(&spec), storageOf(&spec), p.quota.storage, "GiB", want.Storage, granted.Storage, usedByOthers.Storage, true},
	} {
		if d.limit == nil || d.want <= d.granted || add(d.used, d.want) <= *d.limit {
			continue
		}
		used := add(d.used, d.granted)
		detail := fmt.Sprintf("exceeds the quota of %d %s%s%s: %d are used", *d.limit, d.unit, p.origin, where, used)
		more := ""
		if d.granted > 0 {
			detail, more = detail+fmt.Sprintf(", %d of them by this group", d.granted), " more"
		}
		detail += fmt.Sprintf(", %d are left", max(add(*d.limit, -used), 0))
		if d.product {
			// The value is that of one VM; the quota counts all VMs.
			detail += fmt.Sprintf(", %d%s are needed", add(d.want, -d.granted), more)
		}
		violations = append(violations, Violation{
			Field: d.field, Value: d.value, Detail: detail, Policy: p.name, Rule: d.rule, Enforced: p.Enforced(),
		})
	}
	return violations
}
