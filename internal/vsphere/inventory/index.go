package inventory

import (
	"sync"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// State says what is known of an object's existence.
type State int

// States. An object that the index never heard of is Unknown.
const (
	Unknown State = iota
	// Present: it was in the last listing, or was seen since.
	Present
	// Suspect: it is missing; whether it exists is not known.
	Suspect
	// Gone: vCenter said that it does not exist.
	Gone
	// Elsewhere: it exists outside of the root folder.
	Elsewhere
)

// keepListings is how many full listings a Gone or Elsewhere object is remembered for. One that is asked for
// later is looked up again.
const keepListings = 200

// Config of an Index.
type Config struct {
	// Installation is the UID of this installation. VMs with a stamp of another are not counted as ours.
	Installation string
	// ExpectedVMs is the number of stamped VMs known before the first listing, from before a restart.
	ExpectedVMs int
	Watcher     Watcher // nil in tests
}

// Watcher learns of changes of an Index: of groups, and of completeness or its reason. The Index holds no lock when it calls.
type Watcher interface {
	vsphere.Notifier
	// VMChanged gets each change of a VM with this installation's stamp that was known before.
	VMChanged(change Change)
}

type vmEntry struct {
	vm    vsphere.VM
	state State
	// since is the moment of the arrival of what the entry is from. A read that began before it overlaps that, and may have the older content.
	since Moment
	// told is the moment at which a stream showed the VM last. The stream tells each later change of its base properties, so that no read that began
	// before it overrules them.
	told Moment
	// version numbers what the index has held; another number is another content or state.
	version uint64
	// unread is true when vCenter showed the VM without its configuration, so that its stamp is not known.
	unread bool
	// counted is true while stamped counts the VM.
	counted bool
	// leaving is true once we submitted its destruction.
	leaving bool
	// age counts listings since the VM is Gone or Elsewhere.
	age int
	// path is where the VM is while it is Elsewhere; search is what a search for it found since it is Gone. destroyed is true for one that is Gone
	// because we destroyed it: nobody looks for that.
	path      string
	search    *Search
	destroyed bool
}

type folderEntry struct {
	// folder has no path but for the root's: paths are made of the parents when they are asked for.
	folder  vsphere.Folder
	state   State
	since   Moment
	version uint64
	age     int
	// ours is true once a VM of this installation was seen in it.
	ours bool
}

// groups is a set of groups.
type groups map[vsphere.GroupKey]struct{}

// Index is safe for concurrent use.
type Index struct {
	cfg Config

	mu      sync.Mutex
	moment  Moment
	version uint64
	applied Moment
	// arrived is the moment at which the last full listing, or the last first answer of a stream, arrived.
	arrived Moment
	listed  bool
	valid   bool
	reason  string
	root    vsphere.Ref
	vms     map[vsphere.Ref]*vmEntry
	// stamped is the number of VMs that count.
	stamped  int
	folders  map[vsphere.Ref]*folderEntry
	children children
	// doubted are objects that overlapping reads show differently.
	doubted map[vsphere.Ref]struct{}
	// byGroup are the VMs, present or suspect, that carry a group's stamp or its release mark, whichever installation wrote it.
	byGroup  map[vsphere.GroupKey]map[vsphere.Ref]struct{}
	byFolder map[vsphere.Ref]map[vsphere.Ref]struct{}
	// owners are the groups that asked for a folder, so that a foreign VM in it notifies them. Any group may ask for any folder, so none
	// takes the place of another.
	owners map[vsphere.Ref]groups
	// waiting are the groups whose status knows a VM of which neither stamp nor folder leads to them. The entry may not tell whose it is: of a VM
	// that this process never saw below the root, only the reference is known, and of one whose configuration was never read, not the stamp.
	waiting map[vsphere.Ref]groups
	// awaited are the VMs that each group waits for, by what it knew when it was looked up last.
	awaited map[vsphere.GroupKey]map[vsphere.Ref]struct{}
	// unknownFolders are the folders that groups asked for last of those of which nothing is known.
	unknownFolders map[vsphere.GroupKey]vsphere.Ref
	// lost is not nil while SuddenlyEmpty: the VMs that vanished.
	lost map[vsphere.Ref]struct{}
	// recorded are the VMs that groups have recorded, while the alarm is about an inventory from before this process; empty while they are not all known.
	// explained are those of them that were rightly destroyed.
	recorded, explained map[vsphere.Ref]struct{}
	// changes are those that nobody was told of yet.
	changes []Change
	// acceptEmpty is true from AcceptEmpty on until VMs are there again.
	acceptEmpty bool
}

// New returns an empty index that is not complete.
func New(cfg Config) *Index {
	return &Index{
		cfg:      cfg,
		reason:   "vCenter's inventory has not been read yet",
		vms:      map[vsphere.Ref]*vmEntry{},
		folders:  map[vsphere.Ref]*folderEntry{},
		children: children{},
		doubted:  map[vsphere.Ref]struct{}{},
		byGroup:  map[vsphere.GroupKey]map[vsphere.Ref]struct{}{},
		byFolder: map[vsphere.Ref]map[vsphere.Ref]struct{}{},
		owners:   map[vsphere.Ref]groups{},
		waiting:  map[vsphere.Ref]groups{},
		awaited:  map[vsphere.GroupKey]map[vsphere.Ref]struct{}{},

		unknownFolders: map[vsphere.GroupKey]vsphere.Ref{},
	}
}

// SetRoot records the root folder. It is no child of itself and in no listing.
func (x *Index) SetRoot(root vsphere.Folder) {
	x.mu.Lock()
	if !x.root.IsZero() && x.root != root.Ref {
		x.dropFolder(x.root)
	}
	x.root = root.Ref
	x.moment++
	touched := groups{}
	x.putFolder(root, reading{began: x.moment, kind: aLookUp}, touched)
	x.mu.Unlock()
	x.notify(touched, false)
}

// Root returns the root folder, or the zero Ref before SetRoot.
func (x *Index) Root() vsphere.Ref {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.root
}

// Invalidate says that the feed is interrupted, and why, as a sentence. What is known stays, and is not
// trusted until the next full listing.
func (x *Index) Invalidate(reason string) {
	x.mu.Lock()
	changed := x.valid || x.reason != reason
	x.valid, x.reason = false, reason
	x.mu.Unlock()
	if changed {
		x.notify(nil, true)
	}
}

// Listed reports whether the index has applied a full listing. Before the first one, the index knows only the root folder.
func (x *Index) Listed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.listed
}

// Complete reports whether the index holds every VM below the root folder, and why not.
func (x *Index) Complete() (bool, string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.complete()
}

func (x *Index) complete() (bool, string) {
	switch {
	case !x.valid:
		return false, x.reason
	case x.lost != nil:
		return false, suddenlyEmpty
	}
	return true, ""
}

// Stamped returns the number of VMs with this installation's stamp. One without a verdict counts: it is missing, and not known to be gone.
func (x *Index) Stamped() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.stamped
}

// Owned returns the VMs that Stamped counts, in no order.
func (x *Index) Owned() []vsphere.VM {
	x.mu.Lock()
	defer x.mu.Unlock()
	var owned []vsphere.VM
	for _, e := range x.vms {
		if x.counts(e) {
			owned = append(owned, clone(e.vm))
		}
	}
	return owned
}

// counts reports whether a VM of this installation is, or may be, below the root.
func (x *Index) counts(e *vmEntry) bool {
	return (e.state == Present || e.state == Suspect) && x.ours(e)
}

// recount counts an entry that was changed.
func (x *Index) recount(e *vmEntry) {
	if counts := x.counts(e); counts != e.counted {
		e.counted = counts
		if counts {
			x.stamped++
		} else {
			x.stamped--
		}
	}
}

// notify tells groups and, if completeness changed, the server. It tells of changes before, so that nobody asks in vain.
func (x *Index) notify(touched groups, server bool) {
	x.mu.Lock()
	changes := x.changes
	x.changes = nil
	x.mu.Unlock()
	if x.cfg.Watcher == nil {
		return
	}
	for _, c := range changes {
		x.cfg.Watcher.VMChanged(c)
	}
	for g := range touched {
		x.cfg.Watcher.GroupChanged(g)
	}
	if server {
		x.cfg.Watcher.ServerChanged()
	}
}
