// Package fleet is the state of all members and their groups in this replica: how far a member is connected, where
// each group is, which vCenter it uses, and which VMs it expects. It reads and writes memory only. It has no client,
// no logger and no clock of its own.
//
// Informers write it, and all other packages read it. Group is a copy of the data of one group. [Ref] names a group
// as its member's API server does, and a [vsphere.GroupKey] identifies it: another group can get the name.
package fleet
