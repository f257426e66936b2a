package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Name of the VmGroupPolicy.
func (p *Policy) Name() string { return p.name }

// Priority of the policy: the highest is first.
func (p *Policy) Priority() int32 { return p.priority }

// Enforced is false for a policy that only warns.
func (p *Policy) Enforced() bool { return !p.warns }

// Problem says why the policy cannot be used as it is written, or is empty. What then holds is said at [Policy].
func (p *Policy) Problem() string { return p.problem }

// Refusal is the message, without the field, of every growth that an unusable policy refuses; empty for a usable one.
func (p *Policy) Refusal() string { return p.unusable() }

// Exclude returns the patterns of namespace names that the policy does not hold for.
func (p *Policy) Exclude() []string { return textsOf(p.exclude) }

// Requirements returns the namespace selector, with its labels written as requirements. None match all namespaces,
// and are also what is returned for a selector that cannot be parsed: the policy may hold anywhere.
func (p *Policy) Requirements() []metav1.LabelSelectorRequirement {
	if p.selector == nil {
		return nil
	}
	return p.requirements
}

// Bounds returns the policy's ranges.
func (p *Policy) Bounds() Bounds { return p.bounds }

// Allow returns the patterns of templates, one of which has to match; none allow all.
func (p *Policy) Allow() []string { return textsOfNames(p.allow) }

// AllowList is how messages list [Policy.Allow].
func (p *Policy) AllowList() string { return p.allowList }

// Deny returns the patterns of templates, none of which may match. A message names the first that does.
func (p *Policy) Deny() []string { return textsOfNames(p.deny) }

// MustExist says whether the policy refuses templates that are not in vCenter.
func (p *Policy) MustExist() bool { return p.mustExist }

// Defaults returns what the policy fills in; a zero value is none.
func (p *Policy) Defaults() v1alpha1.PolicyDefaults { return p.defaults }

// HasQuota says whether the policy bounds totals.
func (p *Policy) HasQuota() bool { return p.quota != nil }

// QuotaLimits are the limits of a quota; a nil one is open. Memory is in GiB.
type QuotaLimits struct{ Groups, VMs, CPU, Memory *int64 }

// QuotaLimits returns the limits of the policy's quota, all open without one.
func (p *Policy) QuotaLimits() QuotaLimits {
	if p.quota == nil {
		return QuotaLimits{}
	}
	return QuotaLimits{p.quota.groups, p.quota.vms, p.quota.cpu, p.quota.memory}
}
