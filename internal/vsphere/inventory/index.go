package inventory

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// State is the known state of an object's existence.
type State int

// States. An object that the index does not know is Unknown.
const (
	Unknown State = iota
	// Present: the last listing or a later read shows the object.
	Present
	// Suspect: the object is missing, and its existence is unknown.
	Suspect
	// Gone: vCenter confirmed that the object does not exist.
	Gone
	// Elsewhere: the object exists outside of the root folder.
	Elsewhere
)

// keepVerdict is how long a Gone or Elsewhere object is remembered after the last query for it. After that, a query causes a new look-up.
const keepVerdict = 10 * time.Minute

// Config of an Index.
type Config struct {
	// Installation is the UID of this installation. VMs with the stamp of another one do not count as ours.
	Installation string
	// ExpectedVMs is the number of stamped VMs known from before a restart.
	ExpectedVMs int
	Watcher     Watcher          // nil in tests
	Now         func() time.Time // the clock
}

// Watcher receives the changes of an Index: of groups, and of completeness or its reason. The Index holds no lock during a call.
type Watcher interface {
	vsphere.Notifier
	// VMChanged receives each change of a known VM with this installation's stamp.
	VMChanged(change Change)
}

type vmEntry struct {
	vm    vsphere.VM
	state State
	// since is the arrival of the entry's content. A read that began before since overlaps it, and can have older content.
	since Moment
	// told is the moment at which a stream last showed the VM. The stream reports each later change of the base properties, so a read that began before
	// told does not override them.
	told Moment
	// version numbers the contents and states of the index. Another number means another content or state.
	version uint64
	// unread is true if vCenter showed the VM without its configuration, so that its stamp is unknown.
	unread  bool
	counted counted
	// leaving is true after this process submitted the VM's destruction.
	leaving bool
	// asked is the time of the last query for the VM since it became Gone or Elsewhere, or of that change.
	asked time.Time
	// path is the location of a VM that is Elsewhere. search is the result of the search for a VM in state Gone. destroyed is true if this process
	// destroyed the VM, which then needs no search.
	path      string
	search    *Search
	destroyed bool
}

type folderEntry struct {
	// folder has no path except for the root: paths are computed from the parents on request.
	folder  vsphere.Folder
	state   State
	since   Moment
	version uint64
	asked   time.Time
	// ours is true after a VM of this installation was seen in the folder.
	ours bool
}

// groups is a set of groups.
type groups map[vsphere.GroupKey]struct{}

// Index is safe for concurrent use.
type Index struct {
	cfg Config

	whole atomic.Pointer[whole]

	mu      sync.Mutex
	moment  Moment
	version uint64
	applied Moment
	// arrived is the arrival of the last full listing, or of the last first answer of a stream.
	arrived Moment
	listed  bool
	valid   bool
	reason  string
	root    vsphere.Ref
	vms     map[vsphere.Ref]*vmEntry
	counts
	folders  map[vsphere.Ref]*folderEntry
	children children
	// doubted are objects that overlapping reads show differently.
	doubted map[vsphere.Ref]struct{}
	// byGroup are the present or suspect VMs with a group's stamp or release mark from any installation.
	byGroup  map[vsphere.GroupKey]map[vsphere.Ref]struct{}
	byFolder map[vsphere.Ref]map[vsphere.Ref]struct{}
	// owners are the groups that asked for a folder, so that a foreign VM in it notifies them. Any group can ask for any folder, so all of them are kept.
	owners map[vsphere.Ref]groups
	// waiting are the groups whose status lists a VM that leads to them by neither stamp nor folder. The entry can lack the VM's owner: for a VM that
	// this process never saw below the root, only the reference is known. For one whose configuration was never read, the stamp is unknown.
	waiting map[vsphere.Ref]groups
	// awaited are the VMs that each group waits for, from its last query.
	awaited map[vsphere.GroupKey]map[vsphere.Ref]struct{}
	// unknownFolders maps each group to the unknown folder that it asked for last.
	unknownFolders map[vsphere.GroupKey]vsphere.Ref
	// lost are the vanished VMs. It is not nil while SuddenlyEmpty.
	lost map[vsphere.Ref]struct{}
	// recorded are the VMs in the groups' status, while the alarm concerns an inventory from before this process. It is empty while not all are known.
	// explained are those of them that were correctly destroyed.
	recorded, explained map[vsphere.Ref]struct{}
	// changes are the changes that were not reported yet.
	changes []Change
	// acceptEmpty is true from AcceptEmpty until VMs are present again.
	acceptEmpty bool
}

// New returns an empty, incomplete index.
func New(cfg Config) *Index {
	x := &Index{
		cfg:      cfg,
		reason:   "vCenter's inventory has not been read yet",
		vms:      map[vsphere.Ref]*vmEntry{},
		counts:   newCounts(),
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
	x.publish()
	return x
}

// SetRoot records the root folder. The root folder is not its own child and in no listing.
func (x *Index) SetRoot(root vsphere.Folder) {
	x.mu.Lock()
	if !x.root.IsZero() && x.root != root.Ref {
		x.dropFolder(x.root)
	}
	x.root = root.Ref
	x.moment++
	touched := groups{}
	x.putFolder(root, reading{began: x.moment, kind: aLookUp}, touched)
	x.unlock()
	x.notify(touched, false)
}

// Root returns the root folder, or the zero Ref before SetRoot.
func (x *Index) Root() vsphere.Ref {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.root
}

// Invalidate records that the feed is interrupted, and the reason as a sentence. The known state stays, but is not trusted until the next full
// listing.
func (x *Index) Invalidate(reason string) {
	x.mu.Lock()
	changed := x.valid || x.reason != reason
	x.valid, x.reason = false, reason
	x.unlock()
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

func (x *Index) complete() (bool, string) {
	switch {
	case !x.valid:
		return false, x.reason
	case x.lost != nil:
		return false, suddenlyEmpty
	}
	return true, ""
}

// notify notifies groups and, if completeness changed, the server. It reports changes of VMs first, so that a notified group finds their result.
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
