// Package survey holds what a look at a vCenter found, as plain values: package govmomi reads them, and others judge
// them.
//
// A nil pointer means that the part was not read, because an earlier one failed.
package survey

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/privileges"
)

// Facts are what was found.
type Facts struct {
	// Began is when the look began.
	Began  time.Time
	Server Server
	Login  *Login
	Rights []Rights
	Places *Places
	// Templates are those that were read; Unread says why none were.
	Templates []Template
	Reading   *Reading
	// Sessions are two counts: after the login, and after a while.
	Sessions []Sessions
	Probe    *Probe
	// Leftovers are what probes left that were killed.
	Leftovers []Leftover
}

// Problem is why something failed.
type Problem struct {
	Kind vsphere.Kind
	// Fault is the name of vCenter's fault, and Privilege the one that is missing; empty for none.
	Fault, Privilege string
	// Object is the path or reference of the object that it is about, if it is known.
	Object string
	// Text is the whole message, with names.
	Text string
}

// Object is an object of the inventory.
type Object struct {
	Kind privileges.Object
	// Path in the inventory, and Ref, its reference. Either may be empty.
	Path, Ref string
}

// Server is what answers at the address.
type Server struct {
	// Host and port, and whether the password goes there over plain http.
	Host      string
	PlainHTTP bool
	// Local is true for an address of this host.
	Local bool
	// Unreachable says why nothing answers.
	Unreachable *Problem
	// Untrusted says why the certificate is refused.
	Untrusted   *Problem
	Certificate *Certificate
	// Versioned is the answer to a request that names the API's version as the operator does, Unversioned to one that
	// names none.
	Versioned, Unversioned Answer
	// VersionsFile is true if the server has the file of API versions, and Namespaces are those in it.
	VersionsFile bool
	Versions     []string
	// OutOfSessions is true for a server that has no room for another session.
	OutOfSessions bool
	About         *About
}

// Answer to a request.
type Answer string

// Answers.
const (
	NotAsked Answer = ""
	Accepted Answer = "accepted"
	Refused  Answer = "refused"
	Failed   Answer = "failed"
)

// Certificate is the one that the server shows.
type Certificate struct {
	// Names that it is for, without the first, its subject.
	Subject, Issuer     string
	Names               []string
	NotBefore, NotAfter time.Time
	// SHA256 is the thumbprint, as spec.tls.thumbprint takes it.
	SHA256     string
	TLSVersion string
	SelfSigned bool
	// Chain is how many certificates the server sent.
	Chain int
	// Pinned and Unchecked say how it is checked.
	Pinned, Unchecked bool
}

// About says what the server is.
type About struct {
	Name, Version, Build, APIVersion, InstanceUUID string
	VCenter                                        bool
}

// Login is what became of the only login.
type Login struct {
	// User as the server spells it.
	User string
	// Problem is why there is none.
	Problem *Problem
	// Held is true if nothing was sent, since vCenter rejected these before.
	Held bool
	// Skew is how far the server's clock is ahead of this host's.
	Skew time.Duration
	// ClockRead is false if the server did not say its time.
	ClockRead bool
}

// Rights are the privileges of the account on an object.
type Rights struct {
	Object
	Has []string
	// Unread is true if vCenter does not say.
	Unread bool
}

// Places are where VMs go.
type Places struct {
	// Problem is why the datacenter or the catalog cannot be read.
	Problem *Problem
	// Placement is why the resource pool, datastore and network of the settings are not found, or do not go together.
	// OtherKind is what was named instead.
	Placement *Problem
	OtherKind string
	// Folder is the root folder, or the folder that it will be created in.
	Folder     string
	FolderMade bool
	Pool       Object
	Cluster    *Cluster
	Datastores []Datastore
	Networks   []Network
	// Unseen are objects above others that the account does not see.
	Unseen []Unseen
	// Counts of what there is in the datacenter.
	Hosts, Pools, AllDatastores, AllNetworks, AllTemplates int
}

// Unseen is an object that the account does not see, above one that it does.
type Unseen struct{ Below, Ref string }

// Cluster is that of the resource pool.
type Cluster struct {
	Path, Ref string
	// Single is true for a host that is in no cluster.
	Single bool
	// ConfigRead is false if its settings cannot be read.
	ConfigRead bool
	DRS        bool
	Automation string
	HA         bool
	Admission  bool
	Hosts      int
	// Away are hosts that run no VM now, with the reason.
	Away []string
}

// Datastore that VMs go to.
type Datastore struct {
	Object
	// Wanted is true for the one that the settings name.
	Wanted         bool
	Capacity, Free int64
	Accessible     bool
	Maintenance    string
	// Hosts of the cluster that have it, and Lacks those that have not.
	Hosts int
	Lacks []string
	// Unread says that it cannot be read.
	Unread *Problem
}

// Network that VMs are connected to.
type Network struct {
	Object
	Wanted      bool
	Distributed bool
	Hosts       int
	Lacks       []string
	// Switch of a port group; SwitchHidden is true if the account does not see it.
	Switch       Object
	SwitchHidden bool
	Unread       *Problem
}

// Template that VMs are cloned from.
type Template struct {
	Object
	CPUs, CoresPerSocket, MemoryMiB int64
	// HardwareVersion is N of vmx-N.
	HardwareVersion int
	ToolsStatus     string
	VApp            bool
	TPM, Encrypted  bool
	Snapshot        bool
	// HostAway says why its host copies nothing now.
	HostAway string
	// Out is why its datastores are not reached from the cluster.
	Out      string
	Adapters []Adapter
	Disks    []Disk
	// CDROM is true for a drive with a file, Passthrough with a device of a host.
	CDROM, Passthrough                   bool
	ReservedMiB, ReservedMHz             int64
	LocksMemory                          bool
	Latency                              string
	SizeBytes                            int64
	KeepsUserData, KeepsStamp, KeepsKeys bool
}

// Adapter of a template.
type Adapter struct {
	Label, Type    string
	ManualMAC      bool
	StartConnected bool
}

// Disk of a template.
type Disk struct {
	Key                    int32
	Controller             string
	FirstClass, Persistent bool
}

// Reading is how vCenter's lists can be read.
type Reading struct {
	// Objects and Pages of a listing of the datacenter, how long it took, and VMs below the root folder.
	Objects, Pages int
	Took           time.Duration
	VMs            int
	VMsTook        time.Duration
	// Continued is true if a second page was asked for.
	Continued bool
	// Each is why that part failed.
	Listing, NextPage, Updates, Events, Tasks *Problem
	UpdatesTook                               time.Duration
	RecentTasks                               int
}

// Sessions at vCenter.
type Sessions struct {
	At time.Time
	// Hidden is true if the account does not see them.
	Hidden bool
	// All of them, those of this account, and those of nobody.
	All, Account, Unnamed int
	// Own is true if the own one is there, Whole if its user agent is.
	Own, Whole bool
	Problem    *Problem
}

// Leftover is what a killed probe left.
type Leftover struct {
	Path string
	// Until is when that probe has ended for certain.
	Until time.Time
	// Removed is true if it is gone now; Problem says why it is not.
	Removed bool
	Problem *Problem
	// Foreign is true if something else is in the folder.
	Foreign bool
}

// Probe is what became of one VM.
type Probe struct {
	Template Object
	// Failed is the step that failed, with the Problem; empty if all went well.
	Failed  string
	Problem *Problem
	// Left says what could not be removed.
	Left                          *Problem
	CloneTook, PowerOnTook        time.Duration
	Cloned, PoweredOn             bool
	SeenMidClone, ConfigMidClone  bool
	UUIDKept, MACNew              bool
	KeysKept                      bool
	Tools, IP                     bool
	ToolsTook                     time.Duration
	GuestInfo                     bool
	PowerMoves, GuestMoves        bool
	TaskAfterDestroy, TaskVisible bool
}
