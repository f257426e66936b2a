// Package policylayers validates VmGroups with the libraries of an API server: the CRDs' schemas with their rules,
// and a member's admission policies, compiled like in an API server. Its test compares that with the code of
// webhooks and the reconciler.
//
// It is a separate module: these libraries contain the evaluator of the Common Expression Language, which the
// operator must not have.
package policylayers
