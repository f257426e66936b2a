package vsphere

import (
	"context"
)

// Inventory is the known state of one vCenter. Its methods read memory and do not block.
type Inventory interface {
	// Health returns the state of the connection.
	Health() Health

	// Observe returns the known state of one group. The operator looks up missing known VMs in the background and notifies the group of the result.
	Observe(Query) Observation

	// Marked returns the countable properties of the VMs below the root that carry the group's stamp or release mark, from any installation, unordered. It
	// includes a missing VM until vCenter confirms its state. While Health is not Complete, there can be more.
	Marked(GroupKey) []Marked

	// MarkedGroups returns the groups for which Marked returns a VM, unordered.
	MarkedGroups() []GroupKey

	// Clones returns clones that another process can have started for a group that no longer exists: they ran at the first call for the group and still run. known
	// is false until vCenter's tasks, and the VMs that clones have created by then, have been read.
	Clones(GroupKey) (running []string, known bool)

	// Template finds a template by name or inventory path. Errors: KindNotFound if there is none, KindNotTemplate if the name belongs to an ordinary VM, and
	// KindAmbiguous if two templates share the name. Until the catalog is read, the error is KindTransient. The operator searches again for a missing template in
	// the background and notifies groups of catalog changes.
	Template(name string) (Template, error)

	// Templates returns all templates of the catalog, by path. Until the catalog is read, the error is KindTransient.
	Templates() ([]Template, error)

	// Placement finds the named resource pool, datastore and network, and the defaults for empty names. It returns the errors of Template, with the missing name
	// in the message. If the places do not fit together, it returns both the places and KindSpec.
	Placement(Placement) (ResolvedPlacement, error)
}

// Server is one vCenter. All methods are safe for concurrent use. Every error wraps *Error.
//
// Methods without a context read memory and do not block. Methods with a context call vCenter and return when the server has accepted the request. They respect
// the context's deadline and need a fence in the context (WithFence).
type Server interface {
	Inventory

	// Acquire requests slots for up to want tasks of a group. host is the template's host for clones, and empty for other tasks. It can grant fewer slots or none.
	// The group is then notified when more are free. A want of zero withdraws the demand. For tasks that are no clones, it also declares that no cloned VM is left
	// to finish. The caller releases unused slots. Each successful call of a task method below uses one slot.
	Acquire(group GroupKey, host string, want int) Slots

	// AcquireBehind is Acquire for a group that lacks no VM and only changes its existing VMs. Groups that hold no slot have priority over it.
	AcquireBehind(group GroupKey, host string, want int) Slots

	// Forget drops the demand for slots and the failures of a deleted group.
	Forget(group GroupKey)

	// EnsureFolder returns the group's folder and creates the missing parts of the path. After a failure, it returns the same error to all groups of the
	// namespace, without a call, until the next retry.
	EnsureFolder(ctx context.Context, path FolderPath) (Folder, error)

	// Clone submits a clone that stays powered off. If an operation on the same ordinal is in flight, it fails with KindBusy. If the folder is not below the root,
	// it fails with KindConflict. During the folder's lookup it fails with KindTransient, and for a missing folder with KindNotFound. In these cases nothing was
	// sent. A lost reply is not an error of the clone: the operation stays in flight with OutcomeUnknown until vCenter's tasks and inventory show the result.
	Clone(ctx context.Context, req CloneRequest) error

	// CancelClone asks vCenter to cancel the running clone of an ordinal. The clone then fails without a VM. Errors: KindSpec if vCenter cannot cancel the clone,
	// and KindNotFound if this process knows of no running clone. A clone that has just ended is no error. The operation holds vCenter's answer.
	CancelClone(ctx context.Context, group GroupKey, ordinal int32) error

	// PowerOn, PowerOff and ShutdownGuest submit a power operation. If the VM already has the state, they return no error. A guest shutdown stays in flight until
	// the VM is off, and fails after Target.Within. PowerOff and Mark overtake it.
	PowerOn(ctx context.Context, t Target) error
	PowerOff(ctx context.Context, t Target) error
	ShutdownGuest(ctx context.Context, t Target) error

	// Reconfigure changes a VM's size, its network, or both, and the revision in its stamp, in one step. It changes only the requested fields. If the VM already
	// has the wanted state, it returns no error. If vCenter needs the VM off, it fails with KindOffOnly. If the VM changed since its observation or is marked for
	// destruction, it fails with KindConflict. KindPermission names the missing privilege.
	Reconfigure(ctx context.Context, r Reconfiguration) error

	// Mark writes the tombstone. After that, the VM can be destroyed and is never revived.
	Mark(ctx context.Context, t Target) error

	// Destroy reads the VM's stamp, tombstone and folder afresh and submits its destruction. It refuses with KindForeign a VM that is not the group's or not
	// marked. It refuses with KindForeignDisk a VM with First Class Disks, or with disks added after its clone: vCenter would delete them with the VM. A VM that
	// does not exist is no error.
	Destroy(ctx context.Context, t Target) error

	// Release replaces the stamp with a release mark, so that the VM has no owner. A VM that does not exist, or already carries the mark of this release, is no
	// error.
	Release(ctx context.Context, t Target) error

	// Restamp replaces the installation in a VM's stamp. The target's ID is the one in the stamp: it names the previous installation.
	Restamp(ctx context.Context, t Target, installation string) error

	// ReadFolder reads afresh the VMs directly in a folder. path is relative to the datacenter's VM folder, or a full inventory path. It fails with KindNotFound
	// if the folder certainly does not exist.
	ReadFolder(ctx context.Context, path string) (FolderContent, error)

	// Claim writes a release mark into a VM in the granted folder that carries neither stamp nor mark. The mark identifies the VM after a move. Claim refuses the
	// same VMs as Move.
	Claim(ctx context.Context, a Adoption) error

	// Move moves an adopted VM into the group's folder, and Rename gives it the group's name. Both read the VM afresh. They refuse with KindForeign a VM that does
	// not carry what the adoption requires, is marked for destruction, or lies outside of the granted folders. KindNameTaken means that the folder already has the
	// name. A completed step is no error. Move checks the folder like Clone.
	Move(ctx context.Context, a Adoption) error
	Rename(ctx context.Context, a Adoption) error

	// Adopt writes the stamp into a VM that has its final folder and name, and removes a release mark, in one step. It refuses the same VMs as Move. It refuses
	// with KindConflict a VM that is not in its place yet, has another instance UUID, or changed since its observation. A VM that already carries the stamp is no
	// error.
	Adopt(ctx context.Context, a Adoption) error

	// DestroyFolder removes a folder if a fresh read confirms that it is empty. Otherwise it returns KindNotEmpty with the content in Holds, or KindHoldsFolders.
	// A folder that does not exist is no error.
	DestroyFolder(ctx context.Context, folder Ref) error
}

// Slots is a grant to run tasks.
type Slots interface {
	// Granted is the number of tasks that the caller can submit.
	Granted() int
	// Release returns unused slots. It can be called more than once.
	Release()
}

// GroupNotifier receives changes of groups. Implementations must not block.
type GroupNotifier interface {
	// GroupChanged reports that an observation of the group can differ from the last one.
	GroupChanged(group GroupKey)
}

// Notifier receives changes. Implementations must not block.
type Notifier interface {
	GroupNotifier
	// ServerChanged reports that health, templates or placement of the vCenter changed.
	ServerChanged()
}

// Servers finds vCenters by name.
type Servers interface {
	// Server returns the vCenter called name. It returns false if there is none or its setup failed.
	Server(name string) (Server, bool)
}
