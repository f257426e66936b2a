// Package overview finds what is not well in a fleet, from the objects of the hub alone. It asks no member and no vCenter: the operator writes into the
// status of each MemberCluster and VCenter which of its VmGroups are not ready.
package overview
