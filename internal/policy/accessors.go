package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Name returns the name of the VmGroupPolicy.
func (p *Policy) Name() string { return p.name }

// Priority returns the priority of the policy: the highest comes first.
func (p *Policy) Priority() int32 { return p.priority }

// Enforced is false for a policy that only warns.
func (p *Policy) Enforced() bool { return !p.warns }

// Problem explains why the policy cannot be used as written, or is empty. [Policy] describes the effect of such a policy.
func (p *Policy) Problem() string { return p.problem }

// Refusal is the message, without the field, of every growth that an unusable policy refuses; empty for a usable one.
func (p *Policy) Refusal() string { return p.unusable() }

// Exclude returns the patterns of namespace names that the policy does not apply to.
func (p *Policy) Exclude() []string { return textsOf(p.exclude) }

// Requirements returns the namespace selector, with its labels written as requirements. An empty result matches all namespaces. A selector that
// cannot be parsed also returns an empty result, because the policy can apply anywhere.
func (p *Policy) Requirements() []metav1.LabelSelectorRequirement {
	if p.selector == nil {
		return nil
	}
	return p.requirements
}

// Bounds returns the policy's ranges.
func (p *Policy) Bounds() Bounds { return p.bounds }

// Allow returns the patterns of allowed templates. At least one must match; an empty result allows all.
func (p *Policy) Allow() []string { return textsOfNames(p.allow) }

// AllowList returns [Policy.Allow] as messages list it.
func (p *Policy) AllowList() string { return p.allowList }

// Deny returns the patterns of denied templates. A message names the first one that matches.
func (p *Policy) Deny() []string { return textsOfNames(p.deny) }

// MustExist reports whether the policy refuses templates that do not exist in vCenter.
func (p *Policy) MustExist() bool { return p.mustExist }

// Defaults returns the policy's default values; a zero value is no default.
func (p *Policy) Defaults() v1alpha1.PolicyDefaults { return p.defaults }

// RequiresDisk reports whether the policy's quota limits storage. Then each group with VMs must set the size of its root disks, because the disks of a
// template count nowhere.
func (p *Policy) RequiresDisk() bool { return p.quota != nil && p.quota.storage != nil }

// HasQuota reports whether the policy limits totals.
func (p *Policy) HasQuota() bool { return p.quota != nil }

// QuotaLimits are the limits of a quota; nil means no limit. Memory and Storage are in GiB.
type QuotaLimits struct{ Groups, VMs, CPU, Memory, Storage *int64 }

// QuotaLimits returns the limits of the policy's quota, all nil without a quota.
func (p *Policy) QuotaLimits() QuotaLimits {
	if p.quota == nil {
		return QuotaLimits{}
	}
	return QuotaLimits{p.quota.groups, p.quota.vms, p.quota.cpu, p.quota.memory, p.quota.storage}
}
