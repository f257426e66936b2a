// Package member joins member clusters to the hub.
//
// Two parts work together. The [Provider] is the multicluster-runtime provider: it owns one connection per
// MemberCluster, each in a goroutine of its own, and engages a member with the multicluster manager once the
// member is identified, claimed, has the CRD, and its caches are synced. The reconciler of MemberCluster runs
// on the hub's manager: it reads the kubeconfig, tells the Provider what to connect to, and writes what the
// Provider observed into status. The reconciler never talks to a member, so a member that accepts
// connections and never answers holds up neither a worker nor another member.
//
// # Incarnations
//
// A connection is one incarnation of a member: one kubeconfig content, one MemberCluster object. It is never
// changed; a rotated kubeconfig makes a new incarnation, which waits until the goroutine of the old one has
// ended before it connects. So at no time do two incarnations of a member act, and the end of the old one
// cannot take the new one with it.
//
// # What leaving means
//
// A member that is unreachable, refused or removed is disengaged or marked, never emptied: its VmGroups and
// their VMs stay. Reconcilers must read "not engaged" as "unknown", never as "no groups".
package member
