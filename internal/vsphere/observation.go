package vsphere

import (
	"slices"
	"time"
)

// Query asks for the observation of one group. Its ID alone is enough, also for a group that does not exist any more: then VMs are those that
// carry the group's stamp, and nothing is told of a folder.
type Query struct {
	ID GroupID
	// Folder of the group, or zero before it was created. Then Path says where it would be.
	Folder Ref
	Path   FolderPath
	// Known are the VMs that the group's status has recorded.
	Known []Ref
	// UUIDs are the instance UUIDs that status has of those of Known. A VM that does not exist by its reference any more is looked for by its
	// instance UUID: it has another reference once somebody has registered it again.
	UUIDs map[Ref]string
	// Templates are the names or paths of the templates that the group's VMs are cloned from. A clone of another one that somebody
	// started before this process is not waited for. Without any, all are.
	Templates []string
	// Created is when the group was created, if that is known: a clone that is older is not the group's.
	Created time.Time
	// GuestInfo asks for a value that the guests of the group's VMs write. While a VM that is on has not the wanted one, it is read now and then, and the
	// group is notified of what was read. That costs calls; a group that asks for nothing, or whose VMs all have it, costs none.
	GuestInfo GuestInfoQuery
}

// Record adds a VM that the group's status has recorded, with its instance UUID if it has that.
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

// Observation is what is known of one group, from memory.
type Observation struct {
	// Complete is false when VMs may be missing from this observation; Incomplete then says why. Nothing may
	// be created or deleted on an incomplete observation.
	Complete   bool
	Incomplete string
	// InstanceUUID is that of the server that this was observed at; empty until first connected.
	InstanceUUID string
	// VMs are those below the root that carry the group's stamp, whichever installation wrote it, and those in the
	// group's folder whatever they carry; sorted by Ref.
	VMs []VM
	// Released are the VMs below the root, in whatever folder, that carry a release mark of the group, whichever installation wrote it, and
	// copies of them; sorted by Ref. They are nobody's. Those in the group's folder are in VMs as well. One that is missing stays here
	// until vCenter has said that it is gone or outside of the root.
	Released []VM
	// Unread are VMs in the group's folder, and not in Query.Known, whose configuration vCenter does not show: whose they are is not
	// known, so one may be a clone of the group that nobody has recorded. They are not in VMs.
	Unread []VM
	// Gone are those of Query.Known that vCenter confirmed not to exist. A known VM that is neither in VMs
	// nor in Gone is suspect: its confirmation was started, and the group is notified of the result.
	Gone []Ref
	// Stale are those of Gone that were looked for some time ago and that somebody may have registered again since. They are looked for anew, and
	// the group is notified of the result: no VM is cloned in their place before.
	Stale []Ref
	// Elsewhere are those of Query.Known that exist outside of the operator's root folder, and carry the group's stamp as far as
	// anybody can tell. They are there by another reference if somebody has registered them again.
	Elsewhere []Ref
	// Found is where those of Elsewhere are, by their reference in Elsewhere, as far as that is known.
	Found map[Ref]Found
	// Others are those of Query.Known that exist outside of the root folder, and certainly do not carry the group's stamp.
	Others []Ref
	// Folder is Query.Folder, or what is at Query.Path if there is none, as it was seen last; the zero Folder while
	// nothing is known of it. With FolderElsewhere it has no Path and no Place, and no Name if that cannot be read.
	Folder Folder
	// FolderGone is true when vCenter confirmed that Query.Folder does not exist.
	FolderGone bool
	// FolderElsewhere is true when vCenter confirmed that Query.Folder exists, but not below the operator's root.
	FolderElsewhere bool
	// Lacks are those of the privileges to change VMs that the account did not have on the root folder when the server was connected to, sorted.
	// It is a hint: what it has on a VM may be more or less.
	Lacks []string
	// InFlight are operations whose effect is not visible in VMs yet.
	InFlight []Operation
	// Failures are the last failures that no later success has cleared.
	Failures []Failure
}

// Undecided reports whether a VM of Query.Known is suspect: it is not shown, and vCenter has not said what became of it.
func (o *Observation) Undecided(ref Ref) bool {
	is := func(vm VM) bool { return vm.Ref == ref }
	return !slices.ContainsFunc(o.VMs, is) && !slices.ContainsFunc(o.Released, is) && !slices.Contains(o.Gone, ref) &&
		!slices.Contains(o.Elsewhere, ref) && !slices.Contains(o.Others, ref)
}

// Found is where a VM is that left the operator's root folder.
type Found struct {
	// Ref that the VM has now.
	Ref Ref
	// Path is the inventory path, for people; empty if it cannot be read.
	Path string
}
