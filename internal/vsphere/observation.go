package vsphere

import (
	"slices"
	"time"
)

// Query asks for the observation of one group. The ID alone is enough, also for a group that no longer exists: VMs are then those with the group's
// stamp, and the observation has no folder.
type Query struct {
	ID GroupID
	// Folder of the group, or zero before its creation. Path then names its future location.
	Folder Ref
	Path   FolderPath
	// Known are the VMs in the group's status.
	Known []Ref
	// UUIDs are the recorded instance UUIDs of VMs in Known. If the reference of a VM no longer exists, the operator searches by instance UUID: a VM that
	// was registered again has another reference.
	UUIDs map[Ref]string
	// Templates are the names or paths of the templates of the group's VMs. The operator does not wait for a clone of another template that was started
	// before this process. If Templates is empty, the operator waits for all clones.
	Templates []string
	// Created is the group's creation time, if known. An older clone does not belong to the group.
	Created time.Time
	// GuestInfo asks for a value that the guests of the group's VMs write. While a running VM lacks the wanted value, the operator polls it and notifies
	// the group of the result. Polling costs calls. A group without a query, or whose VMs all have the value, costs none.
	GuestInfo GuestInfoQuery
}

// Record adds a VM from the group's status, with its instance UUID unless that is empty.
func (q *Query) Record(ref Ref, uuid string) {
	q.Known = append(q.Known, ref)
	if uuid == "" {
		return
	}
	if q.UUIDs == nil {
		q.UUIDs = map[Ref]string{}
	}
	q.UUIDs[ref] = uuid
}

// Observation is the known state of one group, from memory.
type Observation struct {
	// Complete is false if VMs can be missing from this observation. Incomplete then holds the reason. On an incomplete observation, the operator must
	// not create or delete anything.
	Complete   bool
	Incomplete string
	// InstanceUUID of the observed server. It is empty until the first connection.
	InstanceUUID string
	// VMs are those below the root that carry the group's stamp from any installation, and all VMs in the group's folder. They are sorted by Ref.
	VMs []VM
	// Released are the VMs below the root that carry a release mark of the group from any installation, and copies of them, sorted by Ref. They have no
	// owner. Those in the group's folder are in VMs as well. A missing VM stays in Released until vCenter confirms that it was deleted or is outside of
	// the root.
	Released []VM
	// Unread are VMs in the group's folder that are not in Query.Known and whose configuration vCenter does not show. Their owner is unknown, so one can
	// be an unrecorded clone of the group. They are not in VMs.
	Unread []VM
	// HalfMade are VMs in the group's folder that are not in Query.Known and show no stamp. A running clone that this process did not start can be
	// creating them. They are neither in VMs nor in Unread.
	HalfMade []HalfMade
	// Gone are those of Query.Known that vCenter confirmed not to exist. A known VM that is neither in VMs nor in Gone is suspect: its confirmation has
	// started, and the group is notified of the result.
	Gone []Ref
	// Stale are those of Gone whose confirmation is old and that a user can have registered again since. The operator searches for them again and
	// notifies the group of the result. Until then, no VM is cloned in their place.
	Stale []Ref
	// Elsewhere are those of Query.Known that exist outside of the operator's root folder and carry the group's stamp, or could carry it. If a user
	// registered such a VM again, it has another reference.
	Elsewhere []Ref
	// Found maps references of Elsewhere to the VMs' locations, as far as these are known.
	Found map[Ref]Found
	// Others are those of Query.Known that exist outside of the root folder and certainly do not carry the group's stamp.
	Others []Ref
	// Folder is the last seen state of Query.Folder or, if that is zero, of the folder at Query.Path. It is the zero Folder if nothing is known. With
	// FolderElsewhere, Folder has no Path and no Place, and no Name if the name is unreadable.
	Folder Folder
	// FolderGone is true if vCenter confirmed that Query.Folder does not exist.
	FolderGone bool
	// FolderElsewhere is true if vCenter confirmed that Query.Folder exists, but not below the operator's root.
	FolderElsewhere bool
	// Lacks are the privileges to change VMs that the account lacked on the root folder at connection time, sorted. Lacks is a hint: the privileges on a
	// VM can differ.
	Lacks []string
	// InFlight are operations without a visible effect in VMs yet.
	InFlight []Operation
	// Failures are the last failures without a later success.
	Failures []Failure
}

// HalfMade is a VM that a running clone can be creating.
type HalfMade struct {
	VM
	// Task is the clone task. Since is the time when vCenter accepted it or, if unknown, when this process first saw it.
	Task  string
	Since time.Time
}

// Undetermined reports whether the group's folder holds VMs with an unknown owner.
func (o *Observation) Undetermined() bool { return len(o.Unread)+len(o.HalfMade) > 0 }

// Undecided reports whether a VM of Query.Known is suspect: the observation does not show it, and vCenter has not confirmed its state.
func (o *Observation) Undecided(ref Ref) bool {
	is := func(vm VM) bool { return vm.Ref == ref }
	return !slices.ContainsFunc(o.VMs, is) && !slices.ContainsFunc(o.Released, is) && !slices.Contains(o.Gone, ref) &&
		!slices.Contains(o.Elsewhere, ref) && !slices.Contains(o.Others, ref)
}

// Found is the location of a VM that left the operator's root folder.
type Found struct {
	// Ref is the VM's current reference.
	Ref Ref
	// Path is the inventory path for display, or "" if it is unreadable.
	Path string
}
