package vsphere

import "time"

// CloneRequest asks for one VM.
type CloneRequest struct {
	Template  Template
	Folder    Ref
	Name      string
	UUID      string
	Stamp     Stamp
	CPU       int32
	MemoryMiB int64
	Placement ResolvedPlacement
	// Linked asks for a linked clone of the template's current snapshot.
	Linked bool
	// UserData is handed to cloud-init through guestinfo; empty for none. It is a secret.
	UserData []byte
	// Ignition is handed to Ignition likewise; empty for none. It is a secret.
	Ignition []byte
	// Metadata is handed to cloud-init likewise; nil for none. A clone that gets any of the three has none that its template carries; one that gets none
	// keeps the template's. The instance ID is UUID.
	Metadata *Metadata
	// GuestInfoKey is a key that the guest is to write. What the template carries there is not handed on. Empty for none.
	GuestInfoKey string
	// Note is the VM's annotation, which says to a person in vCenter whose VM it is. It is left out where the account may not set it.
	Note string
}

// Target names a VM that was observed, and whose it must be.
type Target struct {
	VM      Ref
	ID      GroupID
	Ordinal int32
	// Namespace of the group. Only Release needs it.
	Namespace string
	// Within is how long the guest may take to shut down. Only ShutdownGuest needs it.
	Within time.Duration
	// ChangeVersion of the observation that led to the call; a call that changes configuration fails if the
	// VM was changed since. Empty skips the check.
	ChangeVersion string
}
