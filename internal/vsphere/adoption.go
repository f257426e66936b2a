package vsphere

// Adoption names a VM that a group takes, and what the VM must be until it is the group's. A VM is taken in three steps, each of which may be
// repeated: Move, Rename, Adopt. The stamp is written last, so that the VM is nobody else's to power or to destroy before all is done.
type Adoption struct {
	VM Ref
	// From is what the VM must carry for the group to be allowed to take it.
	From Origin
	// Folder of the group, and Name of the VM in it.
	Folder Ref
	Name   string
	// Stamp that the VM gets. Its UUID is the instance UUID that was found.
	Stamp Stamp
	// ChangeVersion of the observation that led to the call. Only Adopt needs it; empty skips the check.
	ChangeVersion string
}

// Done reports whether a stamp is that of the group already, whoever of its holders wrote it.
func (a Adoption) Done(stamp *Stamp) bool {
	return stamp != nil && stamp.GroupID == a.Stamp.GroupID && stamp.Ordinal == a.Stamp.Ordinal
}

// Origin is what tells that a group may take a VM. Exactly one field is set.
type Origin struct {
	// Stamp of another group, which does not exist any more.
	Stamp *Stamp
	// Released is the mark of another group.
	Released *ReleaseMark
	// Folder is where a VM lies that carries neither: directly in it, or in the group's own folder once it was moved.
	Folder Ref
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
