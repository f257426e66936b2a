package vsphere

import "time"

// CloneRequest requests one VM.
type CloneRequest struct {
	Template Template
	Folder   Ref
	Name     string
	UUID     string
	Stamp    Stamp
	CPU      int32
	// CoresPerSocket divides CPU. Zero means as many as the template, or the greatest number below that which divides CPU.
	CoresPerSocket int32
	MemoryMiB      int64
	// RootDiskGiB is the capacity of the first disk in GiB, at least that of the template. Zero means that of the template. A linked clone cannot have it.
	RootDiskGiB int32
	// DataDisks are created with the VM, on the controller of the first disk.
	DataDisks []DataDisk
	Placement ResolvedPlacement
	// Linked asks for a linked clone of the template's current snapshot.
	Linked bool
	// UserData is passed to cloud-init through guestinfo. Empty means none. It is a secret.
	UserData []byte
	// Ignition is passed to Ignition through guestinfo. Empty means none. It is a secret.
	Ignition []byte
	// Metadata is passed to cloud-init through guestinfo. Nil means none. A clone that gets UserData, Ignition or Metadata inherits none of them from
	// its template. Other clones keep the template's. The instance ID derives from UUID.
	Metadata *Metadata
	// GuestInfoKey is a key that the guest writes. The clone does not inherit the template's value. Empty means none.
	GuestInfoKey string
	// Note is the VM's annotation, which names the VM's owner for users of vCenter. It is omitted if the account cannot set it.
	Note string
}

// Target names an observed VM and its expected owner.
type Target struct {
	VM      Ref
	ID      GroupID
	Ordinal int32
	// Namespace of the group. Only Release needs it.
	Namespace string
	// Within is the time limit for the guest's shutdown. Only ShutdownGuest needs it.
	Within time.Duration
	// ChangeVersion of the observation that led to the call. A call that changes configuration fails if the VM changed since. If it is empty, the call
	// skips the check.
	ChangeVersion string
}
