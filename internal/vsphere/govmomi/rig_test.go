package govmomi_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	installation = "inst-1"
	agent        = "vmgroup-operator/test"
	patience     = 90 * time.Second
)

var group = vsphere.GroupID{Installation: installation, Member: "member-1", Group: "group-1"}

// rig is a simulator, a proxy in front of it, a user who changes vCenter directly, and a running Server.
type rig struct {
	t      *testing.T
	sim    *sim.Simulator
	proxy  *sim.Proxy
	person *sim.Operator
	server *govmomi.Server
	cfg    govmomi.Config
	ctx    context.Context
	stop   func()
	folder vsphere.Folder
	told   *notifier
	// templates are the group's settings for its templates.
	templates []string
}

type notifier struct {
	mu     sync.Mutex
	groups map[vsphere.GroupKey]int
	health func() vsphere.Health
	// complete counts the server notifications while the observation was complete.
	complete int
}

func (n *notifier) GroupChanged(g vsphere.GroupKey) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.groups[g]++
}

func (n *notifier) ServerChanged() {
	complete := n.health().Complete
	n.mu.Lock()
	defer n.mu.Unlock()
	if complete {
		n.complete++
	}
}

func (n *notifier) toldComplete() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.complete > 0
}

func (n *notifier) count(g vsphere.GroupKey) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.groups[g]
}

// TestMain keeps the simulator's own log out of the tests' output.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}

type option func(*sim.Options, *govmomi.Config)

// both runs a test in both modes of observation.
func both(t *testing.T, f func(t *testing.T, mode govmomi.Mode)) {
	t.Helper()
	runsInParallel(t)
	for _, mode := range []govmomi.Mode{govmomi.Watch, govmomi.Poll} {
		t.Run(string(mode), func(t *testing.T) { f(t, mode) })
	}
}

// parallel contains the tests that run in parallel.
var parallel sync.Map

// runsInParallel makes a test run in parallel, also if it is called again: a test can have several rigs.
func runsInParallel(t *testing.T) {
	if _, is := parallel.LoadOrStore(t, true); !is {
		t.Parallel()
	}
}

// newRig starts a rig. The test runs in parallel, because it waits for most of its time.
func newRig(t *testing.T, mode govmomi.Mode, opts ...option) *rig {
	t.Helper()
	runsInParallel(t)
	o := sim.Options{}
	cfg := govmomi.Config{
		Name: "test", Installation: installation, Mode: mode, PollInterval: 50 * time.Millisecond,
		Limits: budget.Limits{Tasks: 16, TasksPerHost: 16},
		Session: session.Config{
			Username: "user", Password: "pass", UserAgent: agent,
		},
	}
	for _, opt := range opts {
		opt(&o, &cfg)
	}
	s, err := sim.Start(o)
	must(t, err)
	t.Cleanup(s.Close)
	proxy, err := sim.NewProxy(s.URL)
	must(t, err)
	t.Cleanup(proxy.Close)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	person, err := s.Operator(ctx)
	must(t, err)
	t.Cleanup(person.Close)
	if cfg.Session.URL == "" {
		cfg.Session.URL = proxy.URL
	}
	r := &rig{t: t, sim: s, proxy: proxy, person: person, cfg: cfg,
		ctx: vsphere.WithFence(ctx, func() error { return nil })}
	r.start()
	return r
}

// start runs a Server until stop or the end of the test.
func (r *rig) start() {
	r.t.Helper()
	r.told = &notifier{groups: map[vsphere.GroupKey]int{}}
	r.cfg.Notifier = r.told
	r.server = govmomi.New(r.cfg)
	r.told.health = r.server.Health
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	server := r.server
	go func() { done <- server.Run(ctx) }()
	var once sync.Once
	r.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				r.t.Errorf("Run: %v", err)
			}
		})
	}
	r.t.Cleanup(r.stop)
}

func (r *rig) connected() *rig {
	r.t.Helper()
	r.until("connected and complete", func() bool { h := r.server.Health(); return h.Reachable && h.Complete })
	return r
}

// ensure creates the group's folder.
func (r *rig) ensure() *rig {
	r.t.Helper()
	r.connected()
	var err error
	r.folder, err = r.server.EnsureFolder(r.ctx, vsphere.FolderPath{Member: "m", Namespace: "ns", Leaf: "vg.12345678"})
	must(r.t, err)
	return r
}

func (r *rig) until(what string, cond func() bool) {
	r.t.Helper()
	await.True(r.t, what, cond, func() string { return fmt.Sprintf("health: %+v\nobservation: %+v", r.server.Health(), r.observe()) })
}

// toldAfter waits until the group was notified more often than before. A change can be visible
// slightly before its notification.
func (r *rig) toldAfter(before int) {
	r.t.Helper()
	r.until("the group is notified", func() bool { return r.told.count(group.Key()) > before })
}

func (r *rig) observe(known ...vsphere.Ref) vsphere.Observation {
	return r.server.Observe(vsphere.Query{ID: group, Folder: r.folder.Ref, Known: known, Templates: r.templates})
}

// held waits until a client's read is on its way to vCenter, and holds it and all later ones until goOn is called.
func (r *rig) held(client string) (goOn func()) {
	r.t.Helper()
	released, holds := make(chan struct{}), atomic.Bool{}
	r.proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if c.UserAgent == client {
			holds.Store(true)
			<-released
		}
		return faultproxy.Fault{}
	})
	goOn = sync.OnceFunc(func() { close(released) })
	r.t.Cleanup(goOn)
	r.until("a call of "+client+" is held", holds.Load)
	return goOn
}

// request for an ordinal's clone from the default template.
func (r *rig) request(ordinal int32) vsphere.CloneRequest {
	r.t.Helper()
	template, err := r.server.Template("vm-operator-template")
	must(r.t, err)
	place, err := r.server.Placement(vsphere.Placement{})
	must(r.t, err)
	return vsphere.CloneRequest{
		Template: template, Folder: r.folder.Ref, Name: fmt.Sprintf("vg-%d", ordinal), UUID: uuid.NewString(),
		Stamp: vsphere.Stamp{
			GroupID: group, Ordinal: ordinal, Incarnation: 1, Revision: "1-abc", CloneMode: "Full",
			Epoch: vsphere.Epoch{Generation: 3, Number: 4}, Created: time.Now().UTC().Truncate(time.Second),
		},
		CPU: 2, MemoryMiB: 128, Placement: place,
	}
}

// clone creates the VM of an ordinal and waits until no operation is in flight.
func (r *rig) clone(ordinal int32) vsphere.VM {
	r.t.Helper()
	must(r.t, r.server.Clone(r.ctx, r.request(ordinal)))
	return r.settled(ordinal)
}

func (r *rig) settled(ordinal int32) (vm vsphere.VM) {
	r.t.Helper()
	r.until(fmt.Sprintf("ordinal %d is there and settled", ordinal), func() bool {
		o := r.observe()
		var ok bool
		vm, ok = find(o, ordinal)
		return ok && o.Complete && len(o.InFlight) == 0
	})
	return vm
}

func find(o vsphere.Observation, ordinal int32) (vsphere.VM, bool) {
	for _, vm := range o.VMs {
		if vm.Stamp != nil && vm.Stamp.Ordinal == ordinal && vm.Stamp.GroupID == group {
			return vm, true
		}
	}
	return vsphere.VM{}, false
}

func target(vm vsphere.VM) vsphere.Target {
	return vsphere.Target{VM: vm.Ref, ID: group, Ordinal: vm.Stamp.Ordinal, Namespace: "ns", ChangeVersion: vm.ChangeVersion}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantKind(t *testing.T, err error, kind vsphere.Kind) {
	t.Helper()
	if err == nil || vsphere.KindOf(err) != kind {
		t.Fatalf("error %v is of kind %s, want %s", err, vsphere.KindOf(err), kind)
	}
}

const vmPath = "/DC0/vm/vm-operator/m/ns/vg.12345678/"
