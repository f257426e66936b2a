// Package member joins member clusters to the hub. Its controller of MemberClusters runs on the hub's manager: it reads the
// kubeconfig, tells the [link.Provider] what to connect to, and writes what the Provider observed into status. It never talks
// to a member, so a member that accepts connections and never answers holds up neither a worker nor another member.
//
// A MemberCluster is one cluster for ever: the first that it showed, by the UID of the namespace kube-system. The replica
// that leads grants it ([join.Pins]), and the hub remembers it. A connection that finds another cluster touches
// nothing there.
//
// A member that is unreachable or refused is disengaged or marked, never emptied: its VmGroups and their VMs stay.
// Reconcilers must read "not engaged" as "unknown", never as "no groups". A MemberCluster that is deleted leaves the
// member usable without the operator. CRDs, groups and VMs stay.
package member
