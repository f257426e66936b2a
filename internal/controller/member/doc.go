// Package member joins member clusters to the hub. Its controller of MemberClusters runs on the hub's manager: it reads the
// kubeconfig, passes the target to the [link.Provider], and writes the Provider's observations into status. It sends no
// request to a member, so a member that accepts connections and never answers blocks neither a worker nor another member.
//
// A MemberCluster is permanently one cluster: the first that answered, by the UID of the namespace kube-system. The replica
// that leads grants it ([join.Pins]), and the hub stores the grant. A connection that finds another cluster changes nothing
// there.
//
// A member that is unreachable or refused is disengaged or marked, never emptied: its VmGroups and their VMs stay.
// Reconcilers must read "not engaged" as "unknown", never as "no groups". A deleted MemberCluster leaves the member usable
// without the operator. CRDs, groups and VMs stay.
package member
