// Package link connects to members. The [Provider] is the multicluster-runtime provider: it owns one connection per
// MemberCluster, each in a goroutine of its own and in one [State] at a time. It engages a member with the multicluster manager
// once the member is identified, claimed, has the CRD, and its caches are synced.
//
// A connection is one incarnation of a member: one kubeconfig content, one MemberCluster object. It is never changed. A rotated
// kubeconfig creates a new incarnation, which connects after the goroutine of the old one has ended. So two incarnations of a
// member never act at the same time, and the end of the old one cannot end the new one.
//
// A member can have a second identity, for its CRDs, claim and admission objects. Both belong to one incarnation, and must be of
// the same cluster. If only the second fails, a member that was equipped before is still served.
package link
