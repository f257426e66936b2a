// Package policylayers judges VmGroups with the libraries of an API server: the CRDs' schemas with their rules, and a member's admission policies, compiled
// as an API server compiles them. Its test compares that with the code that webhooks and the reconciler run.
//
// It is a module of its own: these libraries have the evaluator of the Common Expression Language, which the operator must not have.
package policylayers
