package vsphere

import "time"

// Adoption names a VM that a group takes, and what the VM must be until it is the group's. A VM is taken in three steps, each of which may be
// repeated: Move, Rename, Adopt. The stamp is written last, so that the VM is nobody else's to power or to destroy before all is done.
type Adoption struct {
	VM Ref
	// From is what the VM must carry for the group to be allowed to take it.
	From Origin
	// Folder of the group, and Name of the VM in it.
	Folder Ref
	Name   string
	// Mark that a VM gets which carries neither stamp nor mark. Only Claim needs it.
	Mark ReleaseMark
	// Stamp that the VM gets. Its UUID is the instance UUID that was found.
	Stamp Stamp
	// ChangeVersion of the observation that led to the call. Only Adopt needs it; empty skips the check.
	ChangeVersion string
}

// Done reports whether a stamp is that of the group already, whoever of its holders wrote it.
func (a Adoption) Done(stamp *Stamp) bool {
	return stamp != nil && stamp.GroupID == a.Stamp.GroupID && stamp.Ordinal == a.Stamp.Ordinal
}

// Origin is what tells that a group may take a VM: what it carries, and where it lies. At most one of Stamp and Released is set.
type Origin struct {
	// Stamp of another group, which does not exist any more.
	Stamp *Stamp
	// Released is the mark of another group.
	Released *ReleaseMark
	// Folder that was granted to the group, anywhere in the datacenter: the VM lies directly in it, or in the group's own folder once it was moved.
	// Without it, a VM may lie anywhere below the root folder.
	Folder Ref
}

// FolderContent is what lies directly in a folder.
type FolderContent struct {
	Folder Ref
	VMs    []FoundVM
}

// FoundVM is a VM that was read afresh.
type FoundVM struct {
	VM
	// Created is when the VM was made, zero if vCenter does not tell.
	Created time.Time
	// Marked is true if anything of the operator's is in the VM's configuration, also what cannot be read as stamp or mark.
	Marked bool
}

// Carried reports whether a VM carries what o says. VMs that carry neither stamp nor mark are told by their folder, which is not asked here.
func (o Origin) Carried(stamp *Stamp, released *ReleaseMark) bool {
	switch {
	case o.Stamp != nil:
		return stamp != nil && *stamp == *o.Stamp
	case o.Released != nil:
		return stamp == nil && released != nil && *released == *o.Released
	}
	return stamp == nil && released == nil && !o.Folder.IsZero()
}
