package govmomi

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
)

// Mode says how the inventory is observed.
type Mode string

// Modes. Watch keeps one property-collector stream; Poll reads a full listing every Config.PollInterval, which
// suits simulators, whose watch is quadratic in the number of VMs.
const (
	Watch Mode = "Watch"
	Poll  Mode = "Poll"
)

// Config of a Server.
type Config struct {
	// Name of the VCenter object, for logs.
	Name string
	// Session says where and how to log in.
	Session session.Config
	// Installation is the UID of this installation, which is in every stamp.
	Installation string
	// Datacenter is a name or inventory path; the only one is found when it is empty.
	Datacenter string
	// RootFolder is the operator's folder below the datacenter's VM folder: a name, or names joined by slashes.
	RootFolder string
	// ResourcePool, Datastore and Network are the defaults for groups: names or paths. An empty pool means the
	// only one; an empty datastore or network leaves the choice to the template.
	ResourcePool, Datastore, Network string
	// TemplateFolders are inventory paths below which templates may be used; none means anywhere in the datacenter.
	TemplateFolders []string
	// Mode is Watch unless set, PollInterval two seconds.
	Mode         Mode
	PollInterval time.Duration
	// ResyncInterval is how often the watch is checked against a full listing, and how often the catalog of
	// templates and places is read: five minutes unless set.
	ResyncInterval time.Duration
	// Limits bounds the tasks that run at a time: eight, and four per template host, unless set.
	Limits budget.Limits
	// ExpectedVMs is the number of our VMs known from before a restart: see vsphere.Health.SuddenlyEmpty.
	ExpectedVMs int
	// Known is where the root folder was before a restart. It is believed only as far as vCenter shows it.
	Known vsphere.Place
	// Sightings is shared by all connections of a process, so that a new one does not wait anew for what hangs; it may be nil.
	Sightings *operations.Sightings
	// Notifier is told of changes; it may be nil.
	Notifier vsphere.Notifier
	// Tasks measures tasks; it may be nil.
	Tasks TaskMeter
	// Witness is told who changed VMs; without one nobody asks.
	Witness vsphere.Witness
	// AskAgainAfter is when vCenter is asked again who made a change: after five seconds unless set.
	AskAgainAfter time.Duration
	Log           logr.Logger
	// Now is the clock for ages and backoff; time.Now unless set.
	Now func() time.Time
}

const (
	defaultPollInterval   = 2 * time.Second
	defaultResyncInterval = 5 * time.Minute
	defaultRootFolder     = "vm-operator"
	// retryFirst and retryLast bound the wait between attempts to connect.
	retryFirst = 500 * time.Millisecond
	retryLast  = 30 * time.Second
	// credentialsPause is the wait between looks whether a login may be tried.
	credentialsPause = 10 * time.Second
	// lookAgainAfter is the pause between look-ups of known objects outside of the root folder.
	lookAgainAfter = 30 * time.Second
	// logoutTimeout bounds the last call at the end of Run.
	logoutTimeout = 5 * time.Second
)

// Server is one vCenter. Create it with New and keep Run running.
type Server struct {
	cfg     Config
	log     logr.Logger
	index   *inventory.Index
	ops     *operations.Tracker
	budget  *budget.Budget
	cat     *catalog
	folders keyedLocks
	// took is how long tasks take here.
	took durations
	// knock is session.Knock with the settings of the session.
	knock func(context.Context) error
	// folderErrors are why folders could not be created.
	folderErrors folderErrors
	// misses are names that groups use and that vCenter does not have.
	misses misses

	// Each of these wakes a loop and holds at most one wake-up: that of running tasks, of suspects, of the
	// catalog, and of full listings in mode Watch.
	taskKick, confirmKick, catalogKick, listKick chan struct{}
	// compareKick is that of the comparison with what the stream shows.
	compareKick chan struct{}
	// leftoverKick is that of the search for sessions that nobody uses any more.
	leftoverKick chan struct{}
	// predecessorKick is that of the search for sessions of a predecessor.
	predecessorKick chan struct{}

	// strayKick is that of the look for VMs outside of the root folder.
	strayKick chan struct{}
	// guestKick is that of the reads of what guests have written.
	guestKick chan struct{}
	guests    guestValues

	// questions are changes that vCenter is to be asked about, and told is the newest event of each VM that was told of. Only who asks
	// touches told.
	questions chan question
	told      map[vsphere.Ref]int32

	mu    sync.Mutex
	conn  *connection
	state health
	// refetch are VMs and folders to read again, asked are objects that somebody wants a verdict on.
	refetch, asked map[vsphere.Ref]struct{}
	// uuids are the instance UUIDs by which groups know the objects that are asked for.
	uuids map[vsphere.Ref]map[vsphere.GroupKey]string
	// sought are objects that groups know and want a verdict on, with the member that was first to ask. Anybody who can write status can make up any number, so
	// one that no group knows any more is dropped, members take turns, and lookUps bounds what is asked for each.
	sought  map[vsphere.Ref]string
	lookUps lookUpPace
	// looked is when an object outside of the root folder was last looked for again.
	looked map[vsphere.Ref]time.Time
	// landed asks for a look at running tasks, because the watch shows the VM of a clone.
	landed bool
	// viewStale asks the feed for another view, because an object below the root is not in the present one.
	viewStale bool
	inherited bool
	// strays is what the last look through the whole vCenter found, strayTried when the last one began.
	strays      vsphere.Strays
	strayTried  time.Time
	predecessor predecessor
	inheritance inheritance
	unseen      unseen
	// makings are VMs that clones may be making, and lingerers groups that are gone and that clones may be making VMs
	// of.
	makings   makings
	lingerers lingerers
	// atPlace is that of the last connection, placed what is wrong with it.
	atPlace vsphere.Place
	placed  vsphere.PlaceProblem
	// missedVMs are some of the VMs that groups ask for while the root folder is suddenly empty.
	missedVMs map[vsphere.Ref]struct{}
	// wasComplete is what groups were last told of the inventory.
	wasComplete bool
	// acted is when our own operation on a VM began last, and unasked counts changes that found too many others waiting.
	acted    map[vsphere.Ref]time.Time
	unasked  int
	nics     map[vsphere.Ref]nicCache
	backings map[vsphere.Ref]types.BaseVirtualDeviceBackingInfo
}

type health struct {
	reachable             bool
	err                   error
	since                 time.Time
	version, instanceUUID string
	privileges            granted
}

var _ vsphere.Server = (*Server)(nil)

// New returns a server that is not connected: see Run.
func New(cfg Config) *Server {
	if cfg.Mode == "" {
		cfg.Mode = Watch
	}
	if cfg.PollInterval <= 0 {
		cfg.PollInterval = defaultPollInterval
	}
	if cfg.ResyncInterval <= 0 {
		cfg.ResyncInterval = defaultResyncInterval
	}
	if cfg.Limits.Tasks <= 0 {
		cfg.Limits = budget.Limits{Tasks: 8, TasksPerHost: 4}
	}
	if cfg.AskAgainAfter <= 0 {
		cfg.AskAgainAfter = defaultAskAgain
	}
	if cfg.RootFolder == "" {
		cfg.RootFolder = defaultRootFolder
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Sightings == nil {
		cfg.Sightings = new(operations.Sightings)
	}
	if cfg.Log.GetSink() == nil {
		cfg.Log = logr.Discard()
	}
	s := &Server{
		cfg: cfg, log: cfg.Log.WithValues("vcenter", cfg.Name),
		taskKick:     make(chan struct{}, 1),
		confirmKick:  make(chan struct{}, 1),
		catalogKick:  make(chan struct{}, 1),
		listKick:     make(chan struct{}, 1),
		compareKick:  make(chan struct{}, 1),
		leftoverKick: make(chan struct{}, 1),

		predecessorKick: make(chan struct{}, 1),
		strayKick:       make(chan struct{}, 1),
		guestKick:       make(chan struct{}, 1),
		questions:       make(chan question, mostQuestions),
		told:            map[vsphere.Ref]int32{},
		acted:           map[vsphere.Ref]time.Time{},
		refetch:         map[vsphere.Ref]struct{}{},
		asked:           map[vsphere.Ref]struct{}{},
		uuids:           map[vsphere.Ref]map[vsphere.GroupKey]string{},
		sought:          map[vsphere.Ref]string{},
		lookUps:         lookUpPace{},
		looked:          map[vsphere.Ref]time.Time{},
		missedVMs:       map[vsphere.Ref]struct{}{},
		inheritance:     inheritance{waiting: map[vsphere.GroupKey]struct{}{}},
		nics:            map[vsphere.Ref]nicCache{},
		backings:        map[vsphere.Ref]types.BaseVirtualDeviceBackingInfo{},
	}
	s.state.since = cfg.Now()
	s.index = inventory.New(inventory.Config{Installation: cfg.Installation, ExpectedVMs: cfg.ExpectedVMs, Watcher: notifier{s}})
	s.ops = operations.New(cfg.Now, notifier{s})
	s.budget = budget.New(cfg.Limits, notifier{s})
	s.cat = newCatalog(cfg)
	s.folderErrors.now = cfg.Now
	s.knock = func(ctx context.Context) error { return session.Knock(ctx, cfg.Session) }
	return s
}

// notifier passes on what the parts of a Server notice. It implements inventory.Watcher.
type notifier struct{ s *Server }

func (n notifier) GroupChanged(group vsphere.GroupKey) { n.s.groupChanged(group) }
func (n notifier) ServerChanged()                      { n.s.serverChanged() }
func (n notifier) VMChanged(change inventory.Change)   { n.s.wonder(change) }

func (s *Server) groupChanged(group vsphere.GroupKey) {
	if s.cfg.Notifier != nil && group != "" {
		s.cfg.Notifier.GroupChanged(group)
	}
}

func (s *Server) serverChanged() {
	if s.cfg.Notifier != nil {
		s.cfg.Notifier.ServerChanged()
	}
}

// Health returns the state of the connection, from memory.
func (s *Server) Health() vsphere.Health {
	complete, why := s.complete()
	s.mu.Lock()
	defer s.mu.Unlock()
	return vsphere.Health{
		Reachable: s.state.reachable, Err: s.state.err, Since: s.state.since,
		Version: s.state.version, InstanceUUID: s.state.instanceUUID,
		Complete: complete, Incomplete: why, SuddenlyEmpty: s.index.SuddenlyEmpty(),
		MissingPrivileges: s.state.privileges.missing,
		Predecessor:       s.predecessor.left(), PredecessorProblem: s.predecessor.problem,
		Place: s.atPlace, PlaceProblem: s.placed,
		Templates: s.cat.count(), VMs: s.index.Stamped(), RunningTasks: s.budget.Running(),
	}
}

// complete reports whether conclusions may be drawn from what is not in the inventory.
func (s *Server) complete() (bool, string) {
	if ok, why := s.index.Complete(); !ok {
		return false, why
	}
	if !s.inheritedNow().Known {
		return false, "the inventory is being read again, for what clones did that were running when the operator connected"
	}
	return true, ""
}

// ExpectVMs says which VMs groups count on, which may explain a root folder that was empty from the start: see vsphere.Health.SuddenlyEmpty.
func (s *Server) ExpectVMs(e vsphere.Expectation) { s.index.Expect(e) }

// AcceptEmpty says that the root folder is rightly empty: see vsphere.Health.SuddenlyEmpty.
func (s *Server) AcceptEmpty() { s.index.AcceptEmpty() }

// Owned returns the VMs that carry this installation's stamp, whosever they are, in no order; those that wait for a verdict are among them. While Health is not
// Complete there may be more.
func (s *Server) Owned() []vsphere.VM { return s.index.Owned() }

// Marked returns what counts of a group's VMs: see vsphere.Inventory.
func (s *Server) Marked(group vsphere.GroupKey) []vsphere.Marked { return s.index.Marked(group) }

// MarkedGroups returns the groups that have any: see vsphere.Inventory.
func (s *Server) MarkedGroups() []vsphere.GroupKey { return s.index.MarkedGroups() }

// EmptyGroupFolders returns the folders at the place of a group's in which nothing is, and whether that is known: see inventory.Index.
func (s *Server) EmptyGroupFolders() (empty []vsphere.GroupFolder, known bool) {
	return s.index.EmptyGroupFolders()
}

// FolderPath is the inventory path of a folder below the root folder, or empty while it is not known.
func (s *Server) FolderPath(folder vsphere.Ref) string {
	f, _ := s.index.Folder(folder)
	return f.Path
}

// Budget is that of the tasks, for who shares the limits of this vCenter with other processes: it reads the usage and sets
// the caps. Slots are had from Acquire.
func (s *Server) Budget() *budget.Budget { return s.budget }

// SetLimits changes the limits on running tasks.
func (s *Server) SetLimits(limits budget.Limits) { s.budget.SetLimits(limits) }

// Forget drops what is remembered of a group that was deleted.
func (s *Server) Forget(group vsphere.GroupKey) {
	s.budget.Forget(string(group))
	s.guests.forget(group)
	s.unseek(s.index.Forget(group))
}

// Acquire asks for slots to run tasks: see vsphere.Server.
func (s *Server) Acquire(group vsphere.GroupKey, host string, want int) vsphere.Slots {
	return s.budget.Acquire(string(group), host, want)
}

// AcquireBehind implements vsphere.Server.
func (s *Server) AcquireBehind(group vsphere.GroupKey, host string, want int) vsphere.Slots {
	return s.budget.AcquireBehind(string(group), host, want)
}

// kick wakes a loop without blocking.
func kick(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
