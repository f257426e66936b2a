// Package member joins member clusters to the hub.
//
// Two parts work together. The [Provider] is the multicluster-runtime provider: it owns one connection per
// MemberCluster, each in a goroutine of its own, and engages a member with the multicluster manager once the
// member is identified, claimed, has the CRD, and its caches are synced. The reconciler of MemberCluster runs
// on the hub's manager: it reads the kubeconfig, tells the Provider what to connect to, and writes what the
// Provider observed into status. The reconciler never talks to a member, so a member that accepts
// connections and never answers holds up neither a worker nor another member. Below it, package remote reaches one
// member, and package install puts there what the operator needs; neither knows of the other members.
//
// # Pins
//
// A MemberCluster is one cluster for ever: the first that it showed, by the UID of the namespace kube-system. The replica
// that leads grants it (reconciler.pin), and the hub remembers it (register). A connection that finds another cluster touches
// nothing there.
//
// # Incarnations
//
// A connection is one incarnation of a member: one kubeconfig content, one MemberCluster object. It is never
// changed; a rotated kubeconfig makes a new incarnation, which waits until the goroutine of the old one has
// ended before it connects. So at no time do two incarnations of a member act, and the end of the old one
// cannot take the new one with it.
//
// # Admission
//
// An engaged member has one more goroutine, on the leader, that keeps its admission objects ([install.Renderer]): they
// are applied when they change, every few minutes, and when somebody changed or deleted one. Its trouble shows in the
// condition AdmissionReady and never ends or delays the engagement. A CA bundle is acknowledged in status.caBundleHash
// once the member's API server accepted every webhook configuration that carries it.
//
// # Two identities
//
// A member may have an identity for its CRDs, claim and admission objects besides the one that everything else runs
// with. Both belong to one incarnation, and must be of the same cluster. When only the first fails, a member that was
// equipped before is served on.
//
// # What leaving means
//
// A member that is unreachable or refused is disengaged or marked, never emptied: its VmGroups and their VMs stay.
// Reconcilers must read "not engaged" as "unknown", never as "no groups". A MemberCluster that is deleted leaves the
// member usable without the operator: its admission objects, our finalizer on its groups, and the claim are removed, in
// this order. CRDs, groups and VMs stay.
package member
