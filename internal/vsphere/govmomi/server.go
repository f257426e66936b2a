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

// Mode selects how the inventory is observed.
type Mode string

// Modes. Watch keeps one property-collector stream. Poll reads a full listing every Config.PollInterval, which suits simulators: their watch is quadratic in
// the number of VMs.
const (
	Watch Mode = "Watch"
	Poll  Mode = "Poll"
)

// Config of a Server.
type Config struct {
	// Name of the VCenter object, for logs.
	Name string
	// Session configures the login.
	Session session.Config
	// Installation is the UID of this installation. Every stamp contains it.
	Installation string
	// Datacenter is a name or inventory path. If it is empty, the only datacenter is used.
	Datacenter string
	// RootFolder is the operator's folder below the datacenter's VM folder: a name, or names separated by slashes.
	RootFolder string
	// ResourcePool, Datastore and Network are the defaults for groups: names or paths. An empty pool selects the only one. An empty datastore or network leaves
	// the choice to the template.
	ResourcePool, Datastore, Network string
	// TemplateFolders are inventory paths below which templates can be used. If it is empty, they can be anywhere in the datacenter.
	TemplateFolders []string
	// Mode defaults to Watch, and PollInterval to two seconds.
	Mode         Mode
	PollInterval time.Duration
	// ResyncInterval is the interval of full listings that check the watch, and of reads of the catalog of templates and places. The default is five minutes.
	ResyncInterval time.Duration
	// Limits limits the concurrent tasks. The defaults are eight, and four for each template host.
	Limits budget.Limits
	// ExpectedVMs is the number of our VMs known before a restart: see vsphere.Health.SuddenlyEmpty.
	ExpectedVMs int
	// Known is the location of the root folder before a restart. It is used only if vCenter confirms it.
	Known vsphere.Place
	// Sightings is shared by all connections of a process, so that a new connection does not restart the wait for hanging tasks. It can be nil.
	Sightings *operations.Sightings
	// Notifier receives changes. It can be nil.
	Notifier vsphere.Notifier
	// Tasks measures tasks. It can be nil.
	Tasks TaskMeter
	// Witness receives the users who changed VMs. If it is nil, the Server does not ask for them.
	Witness vsphere.Witness
	// AskAgainAfter is the time until vCenter is asked again for the author of a change. The default is five seconds.
	AskAgainAfter time.Duration
	Log           logr.Logger
	// Now is the clock for ages and backoff. The default is time.Now.
	Now func() time.Time
}

const (
	defaultPollInterval   = 2 * time.Second
	defaultResyncInterval = 5 * time.Minute
	defaultRootFolder     = "vm-operator"
	// retryFirst and retryLast limit the wait between attempts to connect.
	retryFirst = 500 * time.Millisecond
	retryLast  = 30 * time.Second
	// credentialsPause is the wait between checks whether a login can be tried.
	credentialsPause = 10 * time.Second
	// lookAgainAfter is the pause between look-ups of known objects outside of the root folder.
	lookAgainAfter = 30 * time.Second
	// logoutTimeout limits the last call at the end of Run.
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
	// took holds the durations of tasks at this vCenter.
	took durations
	// knock is session.Knock with the settings of the session.
	knock func(context.Context) error
	// folderErrors are the reasons why folders could not be created.
	folderErrors folderErrors
	// misses are names that groups use but vCenter does not have.
	misses misses

	// Each of these channels wakes a loop and holds at most one wake-up: for running tasks, suspects, the catalog, and full listings in mode Watch.
	taskKick, confirmKick, catalogKick, listKick chan struct{}
	// compareKick wakes the comparison with the stream.
	compareKick chan struct{}
	// leftoverKick wakes the search for unused sessions.
	leftoverKick chan struct{}
	// predecessorKick wakes the search for sessions of a predecessor.
	predecessorKick chan struct{}

	// strayKick wakes the search for VMs outside of the root folder.
	strayKick chan struct{}
	// guestKick wakes the reads of guest values.
	guestKick chan struct{}
	guests    guestValues

	// questions are changes to ask vCenter about, and told has the newest reported event of each VM. Only the loop that asks uses told.
	questions chan question
	told      map[vsphere.Ref]reported

	mu    sync.Mutex
	conn  *connection
	state health
	// refetch are VMs and folders to read again. asked are objects that need a verdict.
	refetch, asked map[vsphere.Ref]struct{}
	// uuids are the instance UUIDs by which groups know the objects in asked and sought.
	uuids map[vsphere.Ref]map[vsphere.GroupKey]string
	// sought are objects that groups know and need a verdict on, with the first member that asked. Users with write access to status can invent any number. So an
	// object that no group knows any more is dropped, members take turns, and lookUps limits the look-ups of each member.
	sought  map[vsphere.Ref]string
	lookUps lookUpPace
	looked  looked
	// landed requests a read of running tasks, because the watch shows the VM of a clone.
	landed bool
	// viewStale requests a new view from the feed, because the current one lacks an object below the root.
	viewStale bool
	inherited bool
	// strays is the result of the last search through the whole vCenter, and strayTried the start of the last search.
	strays      vsphere.Strays
	strayTried  time.Time
	predecessor predecessor
	inheritance inheritance
	unseen      unseen
	// makings are VMs that clones can be creating. lingerers are deleted groups for which clones can be creating VMs.
	makings   makings
	lingerers lingerers
	// atPlace is the place of the last connection, and placed its problem.
	atPlace vsphere.Place
	placed  vsphere.PlaceProblem
	// missedVMs are some of the VMs that groups ask for while the root folder is suddenly empty.
	missedVMs map[vsphere.Ref]struct{}
	// wasComplete is the last reported completeness of the inventory.
	wasComplete bool
	// acted is the start of our last operation on each VM. unasked counts changes that were dropped because the queue was full.
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

// New returns an unconnected server: see Run.
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
		told:            map[vsphere.Ref]reported{},
		acted:           map[vsphere.Ref]time.Time{},
		refetch:         map[vsphere.Ref]struct{}{},
		asked:           map[vsphere.Ref]struct{}{},
		uuids:           map[vsphere.Ref]map[vsphere.GroupKey]string{},
		sought:          map[vsphere.Ref]string{},
		lookUps:         lookUpPace{},
		missedVMs:       map[vsphere.Ref]struct{}{},
		inheritance:     inheritance{waiting: map[vsphere.GroupKey]struct{}{}},
		nics:            map[vsphere.Ref]nicCache{},
		backings:        map[vsphere.Ref]types.BaseVirtualDeviceBackingInfo{},
	}
	s.state.since = cfg.Now()
	s.index = inventory.New(inventory.Config{Installation: cfg.Installation, ExpectedVMs: cfg.ExpectedVMs, Watcher: notifier{s}, Now: cfg.Now})
	s.ops = operations.New(cfg.Now, notifier{s})
	s.budget = budget.New(cfg.Limits, notifier{s})
	s.cat = newCatalog(cfg)
	s.folderErrors.now = cfg.Now
	s.knock = func(ctx context.Context) error { return session.Knock(ctx, cfg.Session) }
	return s
}

// notifier passes on the events of a Server's parts. It implements inventory.Watcher.
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

// complete reports whether an object that is missing from the inventory can be taken as absent.
func (s *Server) complete() (bool, string) {
	if ok, why := s.index.Complete(); !ok {
		return false, why
	}
	if !s.inheritedNow().Known {
		return false, "the inventory is being read again, for what clones did that were running when the operator connected"
	}
	return true, ""
}

// ExpectVMs sets the VMs that groups expect, which can explain a root folder that was empty from the start: see vsphere.Health.SuddenlyEmpty.
func (s *Server) ExpectVMs(e vsphere.Expectation) { s.index.Expect(e) }

// AcceptEmpty confirms that the empty root folder is correct: see vsphere.Health.SuddenlyEmpty.
func (s *Server) AcceptEmpty() { s.index.AcceptEmpty() }

// OwnedGroups returns the groups in the stamps of this installation, unordered, including those of VMs that wait for a verdict. While Health is not Complete,
// there can be more.
func (s *Server) OwnedGroups() []vsphere.GroupKey { return s.index.OwnedGroups() }

// Owned returns the VMs of these groups, unordered.
func (s *Server) Owned(groups ...vsphere.GroupKey) []vsphere.VM { return s.index.Owned(groups...) }

// Marked returns the countable properties of a group's VMs: see vsphere.Inventory.
func (s *Server) Marked(group vsphere.GroupKey) []vsphere.Marked { return s.index.Marked(group) }

// MarkedGroups returns the groups with such VMs: see vsphere.Inventory.
func (s *Server) MarkedGroups() []vsphere.GroupKey { return s.index.MarkedGroups() }

// EmptyGroupFolders returns the empty folders at the depth of group folders, and whether these are known: see inventory.Index.
func (s *Server) EmptyGroupFolders() (empty []vsphere.GroupFolder, known bool) {
	return s.index.EmptyGroupFolders()
}

// FolderPath returns the inventory path of a folder below the root folder, or "" while it is unknown.
func (s *Server) FolderPath(folder vsphere.Ref) string {
	f, _ := s.index.Folder(folder)
	return f.Path
}

// Budget returns the task budget, for the code that shares this vCenter's limits with other processes: that code reads the usage and sets the caps. Slots come
// from Acquire.
func (s *Server) Budget() *budget.Budget { return s.budget }

// SetLimits changes the limits on concurrent tasks.
func (s *Server) SetLimits(limits budget.Limits) { s.budget.SetLimits(limits) }

// Forget drops the memory of a deleted group.
func (s *Server) Forget(group vsphere.GroupKey) {
	s.budget.Forget(string(group))
	s.guests.forget(group)
	s.unseek(s.index.Forget(group))
}

// Acquire requests slots for tasks: see vsphere.Server.
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
