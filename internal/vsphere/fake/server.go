package fake

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

// Options of a Server. The zero value is usable.
type Options struct {
	// Now is the clock. The default is a fixed time.
	Now func() time.Time
	// Notifier receives changes, in the goroutine of the call that made the change. It can be nil.
	Notifier vsphere.Notifier
	// AutoFinish ends every task before the call that submitted it returns. A task whose reply was lost still
	// waits for Step.
	AutoFinish bool
	// Limits on concurrent tasks. The default is none. SetLimits changes them.
	Limits budget.Limits
	// Defaults are the placement for values that a group does not name.
	Defaults vsphere.Placement
	// ManualGuest leaves VMware Tools, heartbeat and address of a powered-on VM to ByHand().Edit. Otherwise they are set at
	// once.
	ManualGuest bool
	// HotAdd describes how a running clone can grow. Without a memory limit, the limit is 16 times the clone's memory.
	HotAdd vsphere.HotAdd
	// InstanceUUID of the vCenter. The default is "fake".
	InstanceUUID string
}

const (
	rootPath = "/DC0/vm/vm-operator"
	// outside is a folder outside of the root.
	outside = "group-v-elsewhere"
	// Outside is the path of that folder.
	Outside = "/DC0/vm/elsewhere"
	// noLimit is more than any test starts.
	noLimit = 1 << 20
)

// Server is a vCenter in memory. It implements vsphere.Server.
type Server struct {
	opt    Options
	budget *budget.Budget

	mu sync.Mutex
	// after contains the calls after the lock's release: notifications, and ends of tasks in the budget.
	after []func()
	last  int
	root  vsphere.Ref

	vms     map[vsphere.Ref]*vsphere.VM
	folders map[vsphere.Ref]*vsphere.Folder
	// disks are the disks attached to VMs.
	disks map[vsphere.Ref][]vsphere.Disk
	// networks are the networks of the VMs' first adapters.
	networks map[vsphere.Ref]vsphere.Ref
	// rootDisks are the first disks of the VMs.
	rootDisks map[vsphere.Ref]rootDisk
	// notes are the clones' notes.
	notes map[vsphere.Ref]string
	// extra are the guestinfo keys of VMs and templates.
	extra map[vsphere.Ref]map[string]string
	// written are the values that guests wrote since their power-on. guestsUnread is true while they are unknown.
	written      map[vsphere.Ref]map[string]string
	guestsUnread bool
	// owners are the groups that asked for a folder's observation, to notify them of changes in it.
	owners map[vsphere.Ref]map[vsphere.GroupKey]bool
	tasks  []*task
	// clones are the clones of other processes: see SetClones.
	clones   []string
	lastTask int
	failures operations.Failures
	// created are the VMs' creation times, if a test sets them.
	created map[vsphere.Ref]time.Time
	journal []Entry
	left    predecessor

	catalog
	script
	health
}

var _ vsphere.Server = (*Server)(nil)

// New returns a connected vCenter with an empty root folder, one resource pool, datastore and network, called pool,
// datastore and network, and no template.
func New(opt Options) *Server {
	if opt.Now == nil {
		fixed := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		opt.Now = func() time.Time { return fixed }
	}
	if opt.Limits.Tasks == 0 {
		opt.Limits.Tasks = noLimit
	}
	opt.InstanceUUID = cmp.Or(opt.InstanceUUID, "fake")
	s := &Server{
		opt: opt, vms: map[vsphere.Ref]*vsphere.VM{}, disks: map[vsphere.Ref][]vsphere.Disk{},
		networks: map[vsphere.Ref]vsphere.Ref{}, rootDisks: map[vsphere.Ref]rootDisk{}, notes: map[vsphere.Ref]string{}, extra: map[vsphere.Ref]map[string]string{}, written: map[vsphere.Ref]map[string]string{}, folders: map[vsphere.Ref]*vsphere.Folder{},
		owners: map[vsphere.Ref]map[vsphere.GroupKey]bool{}, script: newScript(),
		health: health{since: opt.Now()},
	}
	// No timer fires: a group that does not claim its slots loses its turn at the next call of any group.
	clock := budget.Clock{Now: opt.Now, AfterFunc: func(time.Duration, func()) func() { return func() {} }}
	s.budget = budget.NewWithClock(opt.Limits, notifier{s}, clock, budget.ClaimWindow)
	s.root = s.addFolder(vsphere.Ref{}, "vm-operator").Ref
	s.folders[s.root].Path = rootPath
	s.AddPlace(ResourcePool, "/DC0/host/cluster/pool")
	s.AddPlace(Datastore, "/DC0/datastore/datastore")
	s.AddPlace(Network, "/DC0/network/network")
	return s
}

// Root returns the operator's root folder.
func (s *Server) Root() vsphere.Ref { return s.root }

// SetLimits changes the limits on concurrent tasks.
func (s *Server) SetLimits(limits budget.Limits) { s.budget.SetLimits(limits) }

// Forget drops the task budget's memory of a deleted group.
func (s *Server) Forget(group vsphere.GroupKey) { s.budget.Forget(string(group)) }

// Acquire requests slots for tasks: see vsphere.Server.
func (s *Server) Acquire(group vsphere.GroupKey, host string, want int) vsphere.Slots {
	return s.budget.Acquire(string(group), host, want)
}

// AcquireBehind implements vsphere.Server.
func (s *Server) AcquireBehind(group vsphere.GroupKey, host string, want int) vsphere.Slots {
	return s.budget.AcquireBehind(string(group), host, want)
}

// unlock releases the lock and makes the calls in after.
func (s *Server) unlock() {
	after := s.after
	s.after = nil
	s.mu.Unlock()
	for _, f := range after {
		f()
	}
}

// notifier receives the budget's notifications.
type notifier struct{ s *Server }

// GroupChanged implements vsphere.GroupNotifier.
func (n notifier) GroupChanged(group vsphere.GroupKey) { n.s.groupChanged(group) }

func (s *Server) groupChanged(group vsphere.GroupKey) {
	if s.opt.Notifier != nil && group != "" {
		s.opt.Notifier.GroupChanged(group)
	}
}

func (s *Server) serverChanged() {
	if s.opt.Notifier != nil {
		s.opt.Notifier.ServerChanged()
	}
}

// touched notifies the groups that can see a VM. The caller holds the lock.
func (s *Server) touched(vm *vsphere.VM) {
	named := vsphere.GroupKey("")
	switch {
	case vm.Stamp != nil:
		named = vm.Stamp.Key()
	case vm.Released != nil:
		named = vm.Released.Key()
	}
	s.after = append(s.after, func() { s.groupChanged(named) })
	s.tellOwners(vm.Folder, named)
}

// tellOwners notifies the groups that asked for a folder, except one that is notified already. The caller holds the lock.
func (s *Server) tellOwners(folder vsphere.Ref, told vsphere.GroupKey) {
	for _, owner := range slices.Sorted(maps.Keys(s.owners[folder])) {
		if owner != told {
			s.after = append(s.after, func() { s.groupChanged(owner) })
		}
	}
}

// ref returns a new reference. The caller holds the lock, or no other code has s.
func (s *Server) ref(typ, prefix string) vsphere.Ref {
	s.last++
	return vsphere.Ref{Type: typ, Value: fmt.Sprintf("%s%d", prefix, s.last)}
}

func (s *Server) addFolder(parent vsphere.Ref, name string) *vsphere.Folder {
	f := &vsphere.Folder{Ref: s.ref(vsphere.TypeFolder, "group-v"), Name: name, Parent: parent}
	if p, ok := s.folders[parent]; ok {
		f.Path = p.Path + "/" + name
	}
	s.folders[f.Ref] = f
	return f
}

// below reports whether a folder is the root or below it.
func (s *Server) below(folder vsphere.Ref) bool {
	for {
		if folder == s.root {
			return true
		}
		f, ok := s.folders[folder]
		if !ok {
			return false
		}
		folder = f.Parent
	}
}

// taken returns the object with a name in a folder.
func (s *Server) taken(folder vsphere.Ref, name string) (vsphere.Ref, bool) {
	for _, vm := range s.vms {
		if vm.Folder == folder && vm.Name == name {
			return vm.Ref, true
		}
	}
	for _, f := range s.folders {
		if f.Parent == folder && f.Name == name {
			return f.Ref, true
		}
	}
	return vsphere.Ref{}, false
}

// Servers is a vsphere.Servers of fakes, by name.
type Servers map[string]*Server

// Server returns the vCenter called name.
func (m Servers) Server(name string) (vsphere.Server, bool) {
	s, ok := m[name]
	if !ok {
		return nil, false
	}
	return s, true
}
