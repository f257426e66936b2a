// Package policy decides what a VmGroup can ask for. It is pure: values in, values out, no client, logger or clock, so that the admission webhook and
// the reconciler reach the same result.
//
// Grants of a VCenter list the members and namespaces that can use the VCenter. They also list the templates, resource pools, datastores and networks
// that groups can reference. Everything else is refused.
//
// VmGroupPolicies limit how much of it a group can ask for. [Compile] parses all policies of a hub once. The [Set] then answers for a [Requester]:
//
//   - [Set.Default] fills in missing fields.
//   - [Set.Evaluate] and [Set.EvaluateUpdate] return a [Violation] for each rule that a field breaks.
//   - [Set.MissingTemplate] returns the violations of a template that does not exist.
//   - [Policy.CheckQuota] returns the violations of totals.
//
// The rules are values in an ordered list. A new rule is one entry, and a few rows of the table in package policytest, which runs against every layer
// that checks groups.
//
// All matching policies apply together, the highest priority first, then by name. [DefaultLimits] apply in addition, each to cpu, memory or replicas,
// until a matching enforced policy limits that field. A policy of mode Warn matches and fills in like any other. Its violations are not enforced, and
// it lifts no default limit.
//
// An update is refused only for fields that it makes worse: a value further from its limit, another template, or more VMs of a kind that breaks a
// policy. Existing values are kept, and an update can always shrink a group. Callers must not check objects that are being deleted.
//
// A policy that cannot be used as written refuses growth of every group that it can apply to; see [Policy].
package policy
