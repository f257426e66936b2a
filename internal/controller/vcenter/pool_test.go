package vcenter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// connectionForTest runs until it is canceled and then until release is closed.
type connectionForTest struct {
	vsphere.Server
	name    string
	diary   *diary
	release chan struct{}

	mu     sync.Mutex
	health vsphere.Health
	owned  []vsphere.VM
	// empty are its empty folders, unsure is true while they are unknown, refuses is the reason why none is removed.
	empty   []vsphere.GroupFolder
	unsure  bool
	strays  vsphere.Strays
	refuses error
}

type diary struct {
	mu     sync.Mutex
	events []string
}

func (d *diary) note(event string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, event)
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.events)
}

func (c *connectionForTest) Health() vsphere.Health {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.health
}

func (c *connectionForTest) becomes(h vsphere.Health) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health = h
}

func (c *connectionForTest) Run(ctx context.Context) error {
	<-ctx.Done()
	<-c.release
	c.diary.note("ended " + c.name)
	return nil
}
func (*connectionForTest) SetLimits(int, int)    {}
func (*connectionForTest) SetPredecessor(string) {}
func (c *connectionForTest) AcceptEmpty()        { c.diary.note("accepted " + c.name) }
func (c *connectionForTest) ExpectVMs(e vsphere.Expectation) {
	c.diary.note(fmt.Sprintf("expects %d of %s", e.VMs, c.name))
}
func (c *connectionForTest) Load() vsphere.Load { return vsphere.Load{Limit: 8} }

func (c *connectionForTest) OwnedGroups() (groups []vsphere.GroupKey) {
	for _, vm := range c.owned {
		groups = append(groups, vm.Stamp.Key())
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

func (c *connectionForTest) Owned(groups ...vsphere.GroupKey) (owned []vsphere.VM) {
	for _, vm := range c.owned {
		if slices.Contains(groups, vm.Stamp.Key()) {
			owned = append(owned, vm)
		}
	}
	return owned
}

func (c *connectionForTest) FolderPath(folder vsphere.Ref) string {
	return map[vsphere.Ref]string{vsphere.FolderRef("group-7"): "/DC0/vm/vm-operator/team-a/shop/web.0a1b2c3d"}[folder]
}
func (c *connectionForTest) EmptyGroupFolders() ([]vsphere.GroupFolder, bool) {
	return c.empty, !c.unsure
}

func (c *connectionForTest) DestroyFolder(ctx context.Context, folder vsphere.Ref) error {
	if err := vsphere.CheckFence(ctx); err != nil {
		return err
	}
	c.diary.note("removed " + folder.Value)
	return c.refuses
}

func (c *connectionForTest) Strays() vsphere.Strays { return c.strays }

func (c *connectionForTest) EndLeftovers() { c.diary.note("leftovers " + c.name) }

// poolRig dials connections and stores them in the order of dialing.
type poolRig struct {
	*Pool
	t      *testing.T
	diary  diary
	dialed []*connectionForTest
}

func newPoolRig(t *testing.T) *poolRig { return &poolRig{Pool: NewPool(), t: t} }

func (r *poolRig) want(password string) bool {
	return r.ensure("vc", Config{Password: password}, func() Connection {
		c := &connectionForTest{name: password, diary: &r.diary, release: make(chan struct{})}
		r.dialed = append(r.dialed, c)
		r.diary.note("dialed " + password)
		return c
	}, func(uuid string) bool { return uuid == "expected" })
}

func (r *poolRig) serving() string {
	server, ok := r.Server("vc")
	if !ok {
		return ""
	}
	return server.(*connectionForTest).name
}

// until waits for condition; the connections end in goroutines of their own.
func (r *poolRig) until(what string, condition func() bool) {
	r.t.Helper()
	await.True(r.t, what, condition, func() string { return fmt.Sprintf("so far: %v", r.diary.read()) })
}

var works = vsphere.Health{Reachable: true, InstanceUUID: "expected"}

func TestTheFirstConnectionServesOnceItWorks(t *testing.T) {
	r := newPoolRig(t)
	if r.want("a") || r.serving() != "" {
		t.Error("a connection serves that was never connected")
	}
	r.dialed[0].becomes(works)
	if !r.want("a") || r.serving() != "a" {
		t.Error("a connection that works does not serve")
	}
	if r.want("a") || len(r.dialed) != 1 {
		t.Error("the same configuration was dialed again")
	}
}

func TestAnotherVCenterBehindTheSameNameNeverServes(t *testing.T) {
	r := newPoolRig(t)
	r.want("a")
	r.dialed[0].becomes(vsphere.Health{Reachable: true, InstanceUUID: "another"})
	if r.want("a") || r.serving() != "" {
		t.Error("VMs of one vCenter would be looked up in another, and all be taken for gone")
	}
}

func TestAWrongNewPasswordLeavesTheOldSessionServing(t *testing.T) {
	r := newPoolRig(t)
	r.want("old")
	r.dialed[0].becomes(works)
	r.want("old")
	r.want("wrong")
	r.dialed[1].becomes(vsphere.Health{Err: &vsphere.Error{Kind: vsphere.KindCredentials, Err: errors.New("refused")}})
	for range 3 {
		r.want("wrong")
	}
	if r.serving() != "old" || len(r.dialed) != 2 {
		t.Errorf("serving %q after %d connections", r.serving(), len(r.dialed))
	}
}

// A connection asks for running tasks once, when it connects. The one that takes over must therefore connect after
// the old one sent its last clone; otherwise a group that is deleted meanwhile leaves that clone behind.
func TestTheConnectionThatTakesOverIsOpenedAfterTheOldOneEnded(t *testing.T) {
	r := newPoolRig(t)
	r.want("old")
	r.dialed[0].becomes(works)
	r.want("old")
	r.want("new")
	r.dialed[1].becomes(works)
	close(r.dialed[1].release)
	if !r.want("new") || r.serving() != "" {
		t.Error("a connection serves while the old one ends")
	}
	for range 3 {
		r.want("new")
	}
	if len(r.dialed) != 2 {
		t.Fatalf("the next connection was opened before the old one had ended: %v", r.diary.read())
	}
	close(r.dialed[0].release)
	r.until("the third connection", func() bool { r.want("new"); return len(r.dialed) == 3 })
	r.dialed[2].becomes(works)
	if !r.want("new") || r.serving() != "new" {
		t.Error("the new connection does not serve")
	}
	events := r.diary.read()
	if slices.Index(events, "ended old") > slices.IndexFunc(events[3:], func(e string) bool { return e == "dialed new" })+3 {
		t.Errorf("order of events: %v", events)
	}
}

func TestThePoolEndsAllConnectionsWithTheManager(t *testing.T) {
	r := newPoolRig(t)
	r.want("a")
	close(r.dialed[0].release)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Start(ctx) }()
	stop()
	if err := <-done; err != nil || !slices.Contains(r.diary.read(), "ended a") {
		t.Errorf("the pool ended with %v: %v", err, r.diary.read())
	}
}
