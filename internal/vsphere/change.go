package vsphere

import "time"

// ChangeKind names what happened to a VM.
type ChangeKind string

// Changes that vCenter is asked about when the operator did not make them itself.
const (
	ChangePoweredOff   ChangeKind = "PoweredOff"
	ChangeSuspended    ChangeKind = "Suspended"
	ChangeDeleted      ChangeKind = "Deleted"
	ChangeReconfigured ChangeKind = "Reconfigured"
	ChangeRenamed      ChangeKind = "Renamed"
	ChangeMoved        ChangeKind = "Moved"
)

// Change is what somebody else did to a VM of a group, as an event of vCenter tells it.
type Change struct {
	ID      GroupID
	Ordinal int32
	VM      Ref
	Kind    ChangeKind
	// At is when, by vCenter's clock.
	At time.Time
	// User is who, as untrusted.Quoted returns it; empty when vCenter names nobody, as for a guest that shuts down by itself.
	User string
}

// Witness is told who changed VMs. Implementations must not block for long.
type Witness interface {
	// Cares reports whether this process looks after a group. vCenter is asked about no other.
	Cares(group GroupKey) bool
	// Changed tells of a change.
	Changed(change Change)
}
