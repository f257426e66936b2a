// Package survey holds the findings about a vCenter as plain values: package govmomi collects them, and other packages
// judge them.
//
// A nil pointer means that the part was not read, because an earlier one failed.
package survey

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/privileges"
)

// Facts are the findings.
type Facts struct {
	// Began is the start of the survey.
	Began  time.Time
	Server Server
	Login  *Login
	Rights []Rights
	Places *Places
	// Templates are the templates that were read.
	Templates []Template
	Reading   *Reading
	// Sessions are two counts: after the login, and after a while.
	Sessions []Sessions
	Probe    *Probe
	// Leftovers are objects of killed probes.
	Leftovers []Leftover
}

// Problem is the reason for a failure.
type Problem struct {
	Kind vsphere.Kind
	// Fault is the name of vCenter's fault, and Privilege the missing privilege. Empty means none.
	Fault, Privilege string
	// Object is the path or reference of the affected object, if known.
	Object string
	// Text is the whole message, with names.
	Text string
}

// Object is an object of the inventory.
type Object struct {
	Kind privileges.Object
	// Path in the inventory, and Ref, the object's reference. Either can be empty.
	Path, Ref string
}

// Server describes the server at the address.
type Server struct {
	// Host and port. PlainHTTP is true if the password is sent over plain http.
	Host      string
	PlainHTTP bool
	// Local is true for an address of this host.
	Local bool
	// Unreachable is the reason why the server does not answer.
	Unreachable *Problem
	// Untrusted is the reason why the certificate is refused.
	Untrusted   *Problem
	Certificate *Certificate
	// Versioned is the answer to a request with the operator's API version, and Unversioned to one without a version.
	Versioned, Unversioned Answer
	// VersionsFile is true if the server has the file of API versions. Versions are its content.
	VersionsFile bool
	Versions     []string
	// OutOfSessions is true if the server has no capacity for another session.
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

// Certificate is the server's certificate.
type Certificate struct {
	// Names of the certificate, without its subject.
	Subject, Issuer     string
	Names               []string
	NotBefore, NotAfter time.Time
	// SHA256 is the thumbprint in the form of spec.tls.thumbprint.
	SHA256     string
	TLSVersion string
	SelfSigned bool
	// Chain is the number of certificates that the server sent.
	Chain int
	// Pinned is true for a check by thumbprint, and Unchecked without any check.
	Pinned, Unchecked bool
}

// About identifies the server.
type About struct {
	Name, Version, Build, APIVersion, InstanceUUID string
	VCenter                                        bool
}

// Login is the result of the only login.
type Login struct {
	// User as the server spells it.
	User string
	// Problem is the reason why the login failed.
	Problem *Problem
	// Held is true if nothing was sent, because vCenter rejected these credentials before.
	Held bool
	// Skew is the lead of the server's clock over this host's.
	Skew time.Duration
	// ClockRead is false if the server did not report its time.
	ClockRead bool
}

// Rights are the privileges of the account on an object.
type Rights struct {
	Object
	Has []string
	// Unread is true if vCenter does not report the privileges.
	Unread bool
}

// Places are the locations of VMs.
type Places struct {
	// Problem is the reason why the datacenter or the catalog is unreadable.
	Problem *Problem
	// Placement is the reason why the resource pool, datastore and network of the settings are not found, or do not fit
	// together. OtherKind is the kind of the object that the settings name instead.
	Placement *Problem
	OtherKind string
	// Folder is the root folder, or the folder in which it will be created.
	Folder     string
	FolderMade bool
	Pool       Object
	Cluster    *Cluster
	Datastores []Datastore
	Networks   []Network
	// Unseen are objects that the account cannot see, above others that it can see.
	Unseen []Unseen
	// Counts of the objects in the datacenter.
	Hosts, Pools, AllDatastores, AllNetworks, AllTemplates int
}

// Unseen is an object that the account cannot see, above one that it can see.
type Unseen struct{ Below, Ref string }

// Cluster is the cluster of the resource pool.
type Cluster struct {
	Path, Ref string
	// Single is true for a host outside of any cluster.
	Single bool
	// ConfigRead is false if its settings are unreadable.
	ConfigRead bool
	DRS        bool
	Automation string
	HA         bool
	Admission  bool
	Hosts      int
	// Away are hosts that cannot run a VM now, with the reason.
	Away []string
}

// Datastore is a datastore for VMs.
type Datastore struct {
	Object
	// Wanted is true for the datastore in the settings.
	Wanted         bool
	Capacity, Free int64
	Accessible     bool
	Maintenance    string
	// Hosts is the number of the cluster's hosts that have it. Lacks names the other hosts.
	Hosts int
	Lacks []string
	// Unread is the reason why it is unreadable.
	Unread *Problem
}

// Network is a network for VMs.
type Network struct {
	Object
	Wanted      bool
	Distributed bool
	Hosts       int
	Lacks       []string
	// Switch of a port group. SwitchHidden is true if the account cannot see it.
	Switch       Object
	SwitchHidden bool
	Unread       *Problem
}

// Template is a template for VMs.
type Template struct {
	Object
	CPUs, CoresPerSocket, MemoryMiB int64
	// HardwareVersion is N of vmx-N.
	HardwareVersion int
	ToolsStatus     string
	VApp            bool
	TPM, Encrypted  bool
	Snapshot        bool
	// HostAway is the reason why its host cannot copy it now.
	HostAway string
	// Out is a datastore of the template that the cluster's hosts do not reach, or "".
	Out      string
	Adapters []Adapter
	Disks    []Disk
	// CDROM is true for a drive with a file, and Passthrough for a device of a host.
	CDROM, Passthrough        bool
	ReservedMiB, ReservedMHz  int64
	LocksMemory               bool
	Latency                   string
	SizeBytes                 int64
	KeepsUserData, KeepsStamp bool
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

// Reading is the result of reading vCenter's lists.
type Reading struct {
	// Objects, Pages and duration of a listing of the datacenter, and VMs below the root folder with the duration of
	// theirs.
	Objects, Pages int
	Took           time.Duration
	VMs            int
	VMsTook        time.Duration
	// Empty are the paths of the uppermost folders below the root folder that contain nothing but folders, and EmptyFolders is the number of all such
	// folders. The account possibly does not see what others contain.
	Empty        []string
	EmptyFolders int
	// Continued is true if a second page was read.
	Continued bool
	// Each is the reason why that part failed.
	Listing, NextPage, Updates, Events, Tasks *Problem
	UpdatesTook                               time.Duration
	RecentTasks                               int
}

// Sessions at vCenter.
type Sessions struct {
	At time.Time
	// Hidden is true if the account cannot see them.
	Hidden bool
	// All counts all sessions, Account those of this account, and Unnamed those without an account.
	All, Account, Unnamed int
	// Own is true if the own session is listed, and Whole if its user agent is complete.
	Own, Whole bool
	Problem    *Problem
}

// Leftover is an object of a killed probe.
type Leftover struct {
	Path string
	// Until is the time at which that probe has certainly ended.
	Until time.Time
	// Removed is true if the survey removed it. Problem is the reason if it did not.
	Removed bool
	Problem *Problem
	// Foreign is true if the folder contains other objects.
	Foreign bool
}

// Probe is the result of one probe with a VM.
type Probe struct {
	Template Object
	// Failed is the step that failed, with the Problem. Empty means success.
	Failed  string
	Problem *Problem
	// Left is the reason why some objects could not be removed.
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
