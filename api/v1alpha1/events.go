package v1alpha1

// Reasons of events of a VmGroup, in addition to the reasons of its conditions.
const (
	EventVMsCreated      = "VMsCreated"      // VMs were cloned
	EventVMsAdopting     = "VMsAdopting"     // VMs of another group are being adopted
	EventVMsAdopted      = "VMsAdopted"      // VMs of another group were adopted
	EventVMsLost         = "VMsLost"         // VMs are not found any more; the operator waits until vCenter confirms their deletion
	EventVMsReplaced     = "VMsReplaced"     // VMs were deleted outside the operator and are replaced
	EventVMsRemoved      = "VMsRemoved"      // surplus VMs were removed
	EventVMsVanished     = "VMsVanished"     // surplus VMs were deleted outside the operator
	EventVMsKept         = "VMsKept"         // the VmGroup was deleted, and its VMs stay
	EventVMsUpdated      = "VMsUpdated"      // VMs were updated to the current revision; at most ten events for each update
	EventRolloutStarted  = "RolloutStarted"  // an update began
	EventRolloutComplete = "RolloutComplete" // all VMs of an update have the current revision
	EventSpecChanged     = "SpecChanged"     // a user changed spec; the note names the user and the fields
	EventFolderKept      = "FolderKept"      // the folder of a deleted VmGroup stays, because it contains objects of others
	EventGroupForgotten  = "GroupForgotten"  // the VmGroup was deleted without its vCenter; also of the MemberCluster
)

// Reasons of events of a VmGroup and its VCenter: a VM was changed outside the operator.
const (
	EventVMPoweredOff   = "VMPoweredOff"   // a VM was powered off
	EventVMSuspended    = "VMSuspended"    // a VM was suspended
	EventVMDeleted      = "VMDeleted"      // a VM was deleted
	EventVMReconfigured = "VMReconfigured" // a VM was reconfigured
	EventVMRenamed      = "VMRenamed"      // a VM was renamed
	EventVMMoved        = "VMMoved"        // a VM was moved to another folder
)

// Reasons of events of a VCenter, in addition to the reasons of its conditions.
const (
	EventFolderRemoved = "FolderRemoved" // an empty folder of a deleted VmGroup was removed
	EventFolderStays   = "FolderStays"   // the VCenter was deleted, and its root folder stays in vCenter
)

// Reasons of events of a MemberCluster, in addition to the reasons of its conditions.
const (
	EventLeft              = "Left"              // the operator left the member, and its VmGroups kept their VMs
	EventLeftBehind        = "LeftBehind"        // objects of the operator stay in the member
	EventGroupReleased     = "GroupReleased"     // a VmGroup was deleted and kept its VMs; the note names the receipt
	EventForeignRecord     = "ForeignRecord"     // the status of a VmGroup names a folder or a VM of others; the operator ignores it
	EventMembersNearlyFull = "MembersNearlyFull" // the record of the clusters that ever joined has room for few more
	EventSharedGroupUID    = "SharedGroupUID"    // VmGroups of two members have the same UID: one API server reports false data, or is a copy of the other
)
