// Package fleet is what this replica knows of all members and their groups: how far a member is connected, where each
// group lives, which vCenter it uses, and what it counts on. It reads and writes memory only. It has no client, no
// logger and no clock of its own.
//
// Informers write, and everybody reads. Group is a copy of what one group shows; [Ref] names a group as its member's
// API server does, and a [vsphere.GroupKey] identifies it: another group can get the name.
package fleet
