package vsphere

import (
	"slices"
	"strings"
	"time"
)

// Object types of a Ref, as vSphere names them.
const (
	TypeVirtualMachine = "VirtualMachine"
	TypeFolder         = "Folder"
	TypeDatacenter     = "Datacenter"
)

// Ref is a managed object reference. The zero value refers to nothing.
type Ref struct {
	// Type is the managed object type, for example VirtualMachine.
	Type string
	// Value is the server's identifier, for example vm-42. It is unique within one vCenter and is not reused.
	Value string
}

// IsZero reports whether r refers to nothing.
func (r Ref) IsZero() bool { return r.Value == "" }

// String returns the form that vSphere's own tools print, for example VirtualMachine:vm-42.
func (r Ref) String() string { return r.Type + ":" + r.Value }

// VMRef returns the reference of the VM with the given value; an empty value gives the zero Ref.
func VMRef(value string) Ref {
	if value == "" {
		return Ref{}
	}
	return Ref{Type: TypeVirtualMachine, Value: value}
}

// FolderRef returns the reference of the folder with the given value; an empty value gives the zero Ref.
func FolderRef(value string) Ref {
	if value == "" {
		return Ref{}
	}
	return Ref{Type: TypeFolder, Value: value}
}

// PowerState of a VM as vCenter reports it.
type PowerState string

// Power states. Unknown covers a VM whose state was not reported.
const (
	PoweredOn    PowerState = "PoweredOn"
	PoweredOff   PowerState = "PoweredOff"
	Suspended    PowerState = "Suspended"
	PowerUnknown PowerState = "Unknown"
)

// GroupID identifies a VmGroup for ever: a group that is re-created under its old name has another one.
type GroupID struct {
	// Installation is the UID of the operator's installation.
	Installation string
	// Member is the UID of the member cluster.
	Member string
	// Group is the UID of the VmGroup.
	Group string
}

// SameGroup reports whether both name one VmGroup, whichever installation serves it.
func (id GroupID) SameGroup(other GroupID) bool {
	return id.Member == other.Member && id.Group == other.Group
}

// Key of the group.
func (id GroupID) Key() GroupKey { return KeyOf(id.Member, id.Group) }

// GroupKey tells VmGroups apart, whichever installation serves them. Whatever is remembered of a group is kept by it: the group's UID alone
// is what the API server of its member says, and the one of another member can say the same.
type GroupKey string

// KeyOf returns the key of a group, given the UID of its member cluster and its own. No member has a slash in its UID: the hub pins none
// that has.
func KeyOf(member, group string) GroupKey { return GroupKey(member + "/" + group) }

// Member is the UID of the group's cluster.
func (k GroupKey) Member() string {
	member, _, _ := strings.Cut(string(k), "/")
	return member
}

// Group is the UID of the group.
func (k GroupKey) Group() string {
	_, group, _ := strings.Cut(string(k), "/")
	return group
}

// Epoch is the fencing number that an owner stamp carries.
type Epoch struct {
	Generation, Number int64
}

// Stamp is the proof of ownership in a VM's extraConfig. It is written with the clone, so that a VM without
// one was never ours. A copy made by hand carries a copied stamp: see the identity rules in docs/concepts.md.
type Stamp struct {
	GroupID
	// Ordinal of the VM within its group.
	Ordinal int32
	// Incarnation counts replacements of this ordinal.
	Incarnation int32
	// Revision of the spec that the VM was cloned with, of at most LongestRevision bytes.
	Revision string
	// CloneMode that was used: Full or Linked. It has at most LongestCloneMode bytes.
	CloneMode string
	// Epoch of the controller that cloned it.
	Epoch Epoch
	// Created is when the clone was submitted, to the second, by the operator's clock. Of a VM that was adopted it is what the VM had before, if
	// it had one.
	Created time.Time
	// UUID is the instance UUID that a VM had when it was adopted. It tells that VM from a copy, since only the UUID of a clone follows from
	// group and ordinal. Empty for a VM that was cloned.
	UUID string
}

// What a stamp says is shown in status, which has no room for more. Somebody else may have written it.
const (
	LongestRevision  = 64
	LongestCloneMode = 32
)

// ReleaseKey is the key in a VM's extraConfig that holds a ReleaseMark.
const ReleaseKey = "vmgroup.retained"

// ReleaseMark is what a VM carries in its extraConfig in place of the stamp once it was released and kept: so that it can be counted, and
// taken by another group of the namespace. It gives nobody a right to the VM: the VM is nobody's.
type ReleaseMark struct {
	// GroupID is that of the stamp that the mark replaced. It names the group that released the VM, which may be gone.
	GroupID
	// Namespace of the group. Nothing else tells it once the group is gone.
	Namespace string
	// Ordinal that the VM had in the group.
	Ordinal int32
	// Revision that the VM was cloned with, of at most LongestRevision bytes. What it says beyond the VM's size cannot be seen of the VM.
	Revision string
	// UUID is that of the stamp.
	UUID string
}

// Of reports whether m was left by the release of this very target. A nil mark was not.
func (m *ReleaseMark) Of(t Target) bool {
	return m != nil && m.GroupID == t.ID && m.Ordinal == t.Ordinal
}

// VM is one virtual machine below the operator's root folder.
type VM struct {
	Ref    Ref
	Name   string
	Folder Ref
	// ResourcePool that the VM runs in; zero if vCenter does not show it.
	ResourcePool Ref
	// InstanceUUID is vCenter's UUID of the VM; vCenter may reassign it when two VMs would share one.
	InstanceUUID string
	Power        PowerState
	// Connection says whether vCenter reaches the VM. If it does not, the rest is what vCenter last knew.
	Connection Connection
	// GuestIP is the address by which others reach the guest, as VMware Tools tell, or empty. Addresses is what it follows from.
	GuestIP   string
	Addresses GuestAddresses
	// HeartbeatGreen is true when VMware Tools' heartbeat is green.
	HeartbeatGreen bool
	// ToolsRunning is true when VMware Tools run, so that the guest can be asked to shut down.
	ToolsRunning bool
	// GuestInfo is the value that Query.GuestInfo asks for, GuestInfoKnown whether it is known: it was read since the VM was powered on, or the VM is off, when
	// there is none. The guest may write anything, so that it passes foreigntext.Quoted before it is shown to a person.
	GuestInfo      string
	GuestInfoKnown bool
	// Disabled is a method that vCenter has disabled of those that are needed to change the VM and to power it off; empty if there is none. A backup or a migration does
	// that. Of a VM that is off it says little: powering off is disabled then.
	Disabled string
	// CPU is the number of virtual CPUs.
	CPU int32
	// MemoryMiB is the memory in MiB.
	MemoryMiB int64
	// HotAdd is what the VM can get more of while it runs.
	HotAdd HotAdd
	// Devices is the number of its disks and network adapters.
	Devices int32
	// BootTime is when it was powered on last, by vCenter's clock and in UTC; zero while it is off, and where vCenter does not tell. To suspend and
	// resume a VM leaves it as it is.
	BootTime time.Time
	// Question is what the VM asks, and waits for an answer to; empty if nothing. It passes foreigntext.Quoted before it is shown to a person.
	Question string
	// IsTemplate is true for a VM that is marked as template.
	IsTemplate bool
	// ChangeVersion changes with every change of the VM's configuration.
	ChangeVersion string
	// Stamp is nil for a VM that carries no readable stamp.
	Stamp *Stamp
	// Released is nil for a VM that carries no readable release mark, and for one that carries a stamp: a mark beside a stamp was written by
	// hand, or came with a copy, and means nothing.
	Released *ReleaseMark
	// Tombstone is true once the operator decided to destroy the VM. Such a VM is never revived.
	Tombstone bool
}

// Folder is a VM folder below the operator's root folder.
type Folder struct {
	Ref    Ref
	Name   string
	Parent Ref
	// Path is the inventory path, for people.
	Path string
	// Place is where the folder lies: its name and those of the two folders above it, empty from the root folder on. Observations have it.
	// Names that members made up are compared with these elements, and never with a path: a slash in a name would make two of it.
	Place FolderPath
}

// GroupFolder is a folder at the place of a group's.
type GroupFolder struct {
	Ref Ref
	FolderPath
	// InventoryPath is for people.
	InventoryPath string
}

// Template is a VM that is marked as template.
type Template struct {
	Ref  Ref
	Name string
	// Path is the inventory path, for example /DC0/vm/linux/debian-12.
	Path string
	// Host is the managed object reference of the host it is registered on; clones of one host share a limit. Where
	// the host cannot be seen it is something else that is the template's alone; it is never empty.
	Host string
	// HasSnapshot is true when a linked clone is possible.
	HasSnapshot bool
	// Datastores that the template's disks lie on, as paths.
	Datastores []string
	// Networks of the template's adapters, as paths.
	Networks []string
	// Unfit says why no full clone can be made of it, and UnfitLinked why no linked one, as sentences for a person; empty if they can.
	Unfit, UnfitLinked string
}

// Health is the state of the connection to a vCenter.
type Health struct {
	// Reachable is true while calls succeed.
	Reachable bool
	// Err is why the vCenter is not reachable, or nil. It wraps *Error.
	Err error
	// Since is when Reachable last changed.
	Since time.Time
	// Version and InstanceUUID of the server; empty until first connected.
	Version, InstanceUUID string
	// Complete is true when the inventory index holds every VM below the root folder.
	Complete bool
	// Incomplete says why Complete is false, as a sentence for a person.
	Incomplete string
	// SuddenlyEmpty is true when the root folder held VMs and then read empty at once: creating and deleting
	// pause until a person accepts it.
	SuddenlyEmpty bool
	// Predecessor is the installation whose VMs this one takes over: the one that was named, once vCenter said that it has no
	// session there; empty before.
	Predecessor string
	// PredecessorProblem says why Predecessor is empty although one was named; empty when nothing was found yet.
	PredecessorProblem string
	// Place is where the root folder is; zero before the first connection. PlaceProblem is what to do so that it is found by its name.
	Place        Place
	PlaceProblem PlaceProblem
	// MissingPrivileges are privileges that the account lacks on the root folder, sorted.
	MissingPrivileges []string
	// Templates, VMs and RunningTasks are counts for status; VMs counts VMs with this installation's stamp, also those that are missing and not known to be gone.
	Templates, VMs, RunningTasks int
}

// Place is a root folder that was found by its name.
type Place struct {
	// InstanceUUID of the vCenter: a reference means nothing in another one.
	InstanceUUID string
	// Datacenter and Folder are the names that led there, as spec had them.
	Datacenter, Folder string
	// Root is the folder.
	Root Ref
}

// PlaceProblem is why the names in spec do not lead to the operator's VMs; zero if they do.
type PlaceProblem struct {
	Kind PlaceProblemKind
	// Message says it to a person, with what to do.
	Message string
}

// PlaceProblemKind is what has happened.
type PlaceProblemKind string

// Kinds of problems with a place. With the first two what was found before is still used.
const (
	DatacenterUnclear PlaceProblemKind = "DatacenterUnclear"
	RootRenamed       PlaceProblemKind = "RootRenamed"
	VMsElsewhere      PlaceProblemKind = "VMsElsewhere"
)

// Placement names where a new VM goes; an empty field means the vCenter's default.
type Placement struct {
	ResourcePool, Datastore, Network string
}

// ResolvedPlacement is a Placement whose names were found. A zero Ref leaves the choice to the template.
type ResolvedPlacement struct {
	ResourcePool, Datastore, Network Ref
	// Paths of the three, for grants and messages.
	ResourcePoolPath, DatastorePath, NetworkPath string
	// Compute is where the resource pool is.
	Compute Compute
}

// Compute is a cluster, or a host that is in none.
type Compute struct {
	Path string
	// Datastores are the paths of those that its hosts reach; none if that is not known.
	Datastores []string
}

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

// OperationKind names what was asked of vCenter.
type OperationKind string

// Operations.
const (
	OpClone         OperationKind = "Clone"
	OpPowerOn       OperationKind = "PowerOn"
	OpPowerOff      OperationKind = "PowerOff"
	OpShutdownGuest OperationKind = "ShutdownGuest"
	OpReconfigure   OperationKind = "Reconfigure"
	OpMark          OperationKind = "Mark"
	OpDestroy       OperationKind = "Destroy"
	OpRelease       OperationKind = "Release"
	OpRestamp       OperationKind = "Restamp"
	OpClaim         OperationKind = "Claim"
	OpMove          OperationKind = "Move"
	OpRename        OperationKind = "Rename"
	OpAdopt         OperationKind = "Adopt"
)

// Ends reports whether an operation is a step towards the end of a VM.
func (k OperationKind) Ends() bool {
	return k == OpMark || k == OpPowerOff || k == OpDestroy || k == OpRelease
}

// Operation is something that was submitted and is not visible yet.
type Operation struct {
	Kind    OperationKind
	Ordinal int32
	// VM is zero for a clone that has not finished, and for one that found its name taken by a VM that looks like
	// the wanted one: of a clone, it is only ever the VM that vCenter said this very task made.
	VM Ref
	// Since is when it was submitted.
	Since time.Time
	// Task is vCenter's reference of the task that runs; empty while, or once, none does.
	Task string
	// CanceledAt is when vCenter was last asked to cancel the task, zero if it never was. CancelErr is why it does not; nil once it agreed.
	CanceledAt time.Time
	CancelErr  error
	// OutcomeUnknown is true when the reply was lost, or another process submitted it: it may have reached
	// vCenter or not.
	OutcomeUnknown bool
}

// HangsAfter is how long a task may run before it is told of, and before the end of a VM does not wait for it any more. Clones of large templates take longer, and
// are told of all the same.
const HangsAfter = 2 * time.Minute

// Hangs reports whether the task of an operation has run for long.
func (o Operation) Hangs(now time.Time) bool { return o.Task != "" && now.Sub(o.Since) >= HangsAfter }

// Overtaken reports whether a step towards the end of the VM need not wait for an operation. A clone holds its name until it ends, and nothing follows a destruction.
func (o Operation) Overtaken(now time.Time) bool {
	switch o.Kind {
	case OpPowerOn, OpPowerOff, OpReconfigure, OpMark, OpRestamp:
		return o.Hangs(now)
	}
	return false
}

// Failure is an operation that failed.
type Failure struct {
	Kind    OperationKind
	Ordinal int32
	VM      Ref
	// Err wraps *Error.
	Err error
	// At is when it failed, RetryAt the earliest time to try again.
	At, RetryAt time.Time
	// Count of failures in a row.
	Count int
	// Revision that a clone failed with, or a reconfiguration; another revision may be tried at once.
	Revision string
	// Met is what was known of the VM.
	Met Met
}

// Met is what an operation on a VM may be refused for as long as it lasts.
type Met struct {
	Power    PowerState
	Question string
}

// Met returns what an operation meets that is submitted now.
func (vm *VM) Met() Met { return Met{Power: vm.Power, Question: vm.Question} }

// Outdated reports whether a step towards the end of a VM that was refused as busy need not wait, because the VM is another since: its question was answered, or
// it was powered on or off.
func (f *Failure) Outdated(vm *VM) bool {
	return vm != nil && f.Kind.Ends() && KindOf(f.Err) == KindBusy && f.Met != vm.Met()
}

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

// FolderPath is where a group's VMs live below the root folder.
type FolderPath struct {
	// Member is the name of the member cluster, Namespace that of the namespace.
	Member, Namespace string
	// Leaf is the group's name, a dot and the first eight characters of its UID.
	Leaf string
}
