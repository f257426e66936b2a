// Package policy says what a VmGroup may ask for. It is pure: values in, values out, no client, logger or
// clock, so that the admission webhook and the reconciler come to the same answer.
//
// Grants of a VCenter say which members and namespaces may use it, and which templates, resource pools, datastores and
// networks they may name. Everything that is not granted is refused.
//
// VmGroupPolicies say how much of it a group may ask for. [Compile] parses all of a hub's once; the [Set] then answers
// for a [Requester]: [Set.Default] fills in what is left out, [Set.Evaluate] and [Set.EvaluateUpdate] return a
// [Violation] for each rule that a field breaks, [Set.MissingTemplate] those of a template that does not exist, and
// [Policy.CheckQuota] those of totals. The rules are values in an ordered list: a new one is one entry and a few rows of
// the table in package policytest, through which every layer that judges groups is run.
//
// All policies that match hold together, the highest priority first, then by name. [DefaultLimits] hold besides: of cpu, memory
// and replicas each, until an enforced policy that matches sets it. A policy of mode Warn matches and fills in as any other;
// what it finds is not enforced, and it lifts no default limit.
//
// An update is refused only for what it makes worse: a value further from its limit, another template, more VMs of a
// kind that breaks a policy. Whatever was there before is kept, and shrinking always passes. Objects that are being
// deleted are not asked about; that is the caller's part.
//
// A policy that cannot be used as it is written refuses growth of whatever it may hold for; see [Policy].
package policy
