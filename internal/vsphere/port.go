package vsphere

import (
	"context"
)

// Inventory is what is known of one vCenter. Its methods read memory and do not block.
type Inventory interface {
	// Health returns the state of the connection.
	Health() Health

	// Observe returns what is known of one group. Known VMs that are missing are looked up in the background;
	// the group is notified when their fate is known.
	Observe(Query) Observation

	// Marked returns what counts of the VMs below the root that carry a group's stamp or its release mark, whichever installation wrote it, in no order.
	// One that is missing from the inventory is among them until there is a verdict. While Health is not Complete there can be more.
	Marked(GroupKey) []Marked

	// MarkedGroups returns the groups of which Marked returns any, in no order.
	MarkedGroups() []GroupKey

	// Clones returns the clones that ran in vCenter when this was asked for the group first, that run still, and that
	// this process did not start: another one may have started them for the group. known is false until vCenter's
	// tasks, and the VMs that clones have made by then, have been read. It is for a group that does not exist any more.
	Clones(GroupKey) (running []string, known bool)

	// Template finds a template by name or inventory path. Errors: KindNotFound when there is none,
	// KindNotTemplate when the name is an ordinary VM's, KindAmbiguous when two templates share the name,
	// KindTransient when the catalog has not been read yet. A template that is missing is looked for again
	// in the background, and groups are notified when the catalog changes.
	Template(name string) (Template, error)

	// Placement finds the named resource pool, datastore and network, and the defaults for what is not named.
	// Errors as for Template, with the missing name in the message; and KindSpec when the places do not go together, which are returned all the same.
	Placement(Placement) (ResolvedPlacement, error)
}

// Server is one vCenter. All methods are safe for concurrent use. Every error wraps *Error.
//
// Methods without a context read memory and do not block. Methods with one call vCenter and return when the
// server has accepted the request; they respect the context's deadline and need a fence in it (WithFence).
type Server interface {
	Inventory

	// Acquire asks for slots to run up to want tasks for a group, cloning from a template on host (empty for
	// tasks that are no clones). Fewer or none may be granted; the group is then notified when there are more.
	// Asking for none takes back what was asked for; for tasks that are no clones it also says that nothing that was cloned is left to finish.
	// The caller releases what it did not use. Each successful call of a task method below uses one slot.
	Acquire(group GroupKey, host string, want int) Slots

	// AcquireBehind is Acquire for a group that lacks no VM, and only brings about a change of those that it has: groups that hold no slot
	// come before it.
	AcquireBehind(group GroupKey, host string, want int) Slots

	// Forget drops what is remembered of a group that is gone: its demand for slots and its failures.
	Forget(group GroupKey)

	// EnsureFolder returns the group's folder and creates what is missing of the path. After a failure, the same error
	// is returned to all groups of the namespace, without a call, until it is time to try again.
	EnsureFolder(ctx context.Context, path FolderPath) (Folder, error)

	// Clone submits a clone that stays powered off. It fails with KindBusy when an operation on the same
	// ordinal of the group is in flight, with KindConflict when the folder is not below the root, and with KindTransient or KindNotFound when it is
	// being looked up or does not exist; nothing was sent then. A lost reply is not an error of the clone: the operation stays in
	// flight with OutcomeUnknown until vCenter's tasks and inventory have told what became of it.
	Clone(ctx context.Context, req CloneRequest) error

	// CancelClone asks vCenter to cancel the clone that runs for an ordinal of a group, which then ends without a VM, as a failure. It fails with
	// KindSpec where vCenter cannot cancel it, and with KindNotFound if this process knows of no clone that runs. A clone that has just ended is no error. The operation
	// says what vCenter answered.
	CancelClone(ctx context.Context, group GroupKey, ordinal int32) error

	// PowerOn, PowerOff and ShutdownGuest submit a power operation. A VM that is in the state already is no error. A guest that was
	// asked to shut down stays in flight until its VM is off, or has failed once Target.Within is over; PowerOff and Mark overtake it.
	PowerOn(ctx context.Context, t Target) error
	PowerOff(ctx context.Context, t Target) error
	ShutdownGuest(ctx context.Context, t Target) error

	// Reconfigure changes a VM's size, its network, or both, and the revision in its stamp, in one step. Only what is asked for is changed; a VM that is
	// like that already is no error. It fails with KindOffOnly for what vCenter changes only while the VM is off, with KindConflict for a VM that was changed
	// since it was observed or is marked to be destroyed, and with KindPermission, which names the privilege, where the account may not change it.
	Reconfigure(ctx context.Context, r Reconfiguration) error

	// Mark writes the tombstone, after which the VM may be destroyed and is never revived.
	Mark(ctx context.Context, t Target) error

	// Destroy reads the VM's stamp, tombstone and folder afresh and submits its destruction. It refuses with
	// KindForeign when the VM is not the group's or not marked, and with KindForeignDisk when it has First Class Disks, or disks that it did not
	// have after its clone: vCenter would delete them with it. A VM that does not exist is no error.
	Destroy(ctx context.Context, t Target) error

	// Release replaces the stamp by a release mark, so that the VM is nobody's. A VM that does not exist, or carries the mark of this very
	// release already, is no error.
	Release(ctx context.Context, t Target) error

	// Restamp replaces the installation in the stamp of a VM by the given one. The target's ID is the one in the stamp: it names
	// the installation that the VM is taken from.
	Restamp(ctx context.Context, t Target, installation string) error

	// ReadFolder reads afresh which VMs lie directly in a folder, which is given by its path below the datacenter's VM folder, or by its whole
	// inventory path. It fails with KindNotFound if there certainly is no such folder.
	ReadFolder(ctx context.Context, path string) (FolderContent, error)

	// Claim writes a release mark into a VM that lies in the folder that was granted, and carries neither stamp nor mark: so that it is told from others
	// wherever it is moved. It refuses as Move does.
	Claim(ctx context.Context, a Adoption) error

	// Move moves a VM that is being adopted into the group's folder, and Rename gives it the group's name for it. Both read the VM afresh, and
	// refuse with KindForeign one that does not carry what the adoption says, that is marked to be destroyed, or that lies where nobody
	// granted it. KindNameTaken says that something in the folder has the name. What is done already is no error. Move fails like Clone if the
	// folder is not below the root.
	Move(ctx context.Context, a Adoption) error
	Rename(ctx context.Context, a Adoption) error

	// Adopt writes the stamp into a VM that lies in the group's folder under its name, and removes a release mark, in one step. It refuses as
	// Move does, and with KindConflict a VM that is not in its place yet, has another instance UUID, or was changed since it was observed. A VM that
	// carries the stamp already is no error.
	Adopt(ctx context.Context, a Adoption) error

	// DestroyFolder removes a folder if vCenter says, read afresh, that nothing is in it; otherwise it
	// returns KindNotEmpty with what it Holds, or KindHoldsFolders. A folder that does not exist is no error.
	DestroyFolder(ctx context.Context, folder Ref) error
}

// Slots is a grant to run tasks.
type Slots interface {
	// Granted is the number of tasks that may be submitted.
	Granted() int
	// Release gives back what was not used. It may be called more than once.
	Release()
}

// GroupNotifier learns of changes of groups. Implementations must not block.
type GroupNotifier interface {
	// GroupChanged says that an observation of the group may differ from the last one.
	GroupChanged(group GroupKey)
}

// Notifier learns of changes. Implementations must not block.
type Notifier interface {
	GroupNotifier
	// ServerChanged says that health, templates or placement of the vCenter changed.
	ServerChanged()
}

// Servers finds the vCenter of a name.
type Servers interface {
	// Server returns the vCenter called name, or false when there is none by that name or none could be set up.
	Server(name string) (Server, bool)
}
