package govmomi_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// resyncOften shortens the intervals of the slow safety nets.
func resyncOften(_ *sim.Options, cfg *govmomi.Config) { cfg.ResyncInterval = 100 * time.Millisecond }

func cloneDelay(d time.Duration) option {
	return func(o *sim.Options, _ *govmomi.Config) { o.CloneDelay = d }
}

func TestLostSessionIsRenewed(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode, cloneDelay(300*time.Millisecond)).ensure()
		must(t, r.server.Clone(r.ctx, r.request(0)))
		logins := r.proxy.Count("Login", agent)
		n, err := r.person.TerminateSessions(r.ctx)
		must(t, err)
		if n != 1 {
			t.Errorf("terminated %d sessions, want 1", n)
		}
		vm := r.settled(0)
		must(t, r.server.PowerOn(r.ctx, target(vm)))
		r.until("powered on", func() bool { vm, _ := find(r.observe(), 0); return vm.Power == vsphere.PoweredOn })
		r.connected()
		must(t, r.person.PowerOff(r.ctx, vmPath+"vg-0"))
		r.until("the new watch works", func() bool {
			o := r.observe()
			vm, _ := find(o, 0)
			return vm.Power == vsphere.PoweredOff && o.Complete
		})
		if got := r.proxy.Count("Login", agent) - logins; got != 1 {
			t.Errorf("%d logins after the session was lost, want 1", got)
		}
	})
}

func TestWrongPassword(t *testing.T) {
	r := newRig(t, govmomi.Poll, func(_ *sim.Options, cfg *govmomi.Config) {
		cfg.Session.Password = "s3cret-wrong"
	})
	r.until("credentials are refused", func() bool { return vsphere.KindOf(r.server.Health().Err) == vsphere.KindCredentials })
	h := r.server.Health()
	if h.Reachable || h.Complete || strings.Contains(h.Err.Error(), "s3cret") {
		t.Errorf("health is %+v", h)
	}
	_, err := r.server.EnsureFolder(r.ctx, vsphere.FolderPath{Member: "m", Namespace: "n", Leaf: "l"})
	wantKind(t, err, vsphere.KindCredentials)
	if n := r.proxy.Count("Login", agent); n != 1 {
		t.Errorf("%d login attempts, want 1", n)
	}
}

func TestUnfencedCallIsRefused(t *testing.T) {
	r := newRig(t, govmomi.Poll).ensure()
	vm := r.clone(0)
	lost := errors.New("the lease is lost")
	fenced := vsphere.WithFence(context.Background(), func() error { return lost })
	for name, ctx := range map[string]context.Context{"no fence": context.Background(), "fence says no": fenced} {
		before := r.proxy.Calls()
		wantKind(t, r.server.Clone(ctx, r.request(1)), vsphere.KindFenced)
		wantKind(t, r.server.PowerOn(ctx, target(vm)), vsphere.KindFenced)
		wantKind(t, r.server.Mark(ctx, target(vm)), vsphere.KindFenced)
		wantKind(t, r.server.DestroyFolder(ctx, mustFolder(t, r, "empty").Ref), vsphere.KindFenced)
		_, err := r.server.EnsureFolder(ctx, vsphere.FolderPath{Member: "m", Namespace: "ns", Leaf: "new"})
		wantKind(t, err, vsphere.KindFenced)
		after := r.proxy.Calls()
		for _, method := range []string{"CloneVM_Task", "PowerOnVM_Task", "ReconfigVM_Task", "Destroy_Task"} {
			call := sim.Kind{Method: method, UserAgent: agent}
			if after[call] != before[call] {
				t.Errorf("%s: %s was sent", name, method)
			}
		}
		if o := r.observe(); len(o.InFlight)+len(o.Failures) != 0 {
			t.Errorf("%s: traces of calls that were not sent: %+v", name, o)
		}
	}
}

func mustFolder(t *testing.T, r *rig, leaf string) vsphere.Folder {
	t.Helper()
	f, err := r.server.EnsureFolder(r.ctx, vsphere.FolderPath{Member: "m", Namespace: "ns", Leaf: leaf})
	must(t, err)
	return f
}

func TestLostReplyOfACloneMakesNoSecondVM(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode, cloneDelay(200*time.Millisecond)).ensure()
		var lost atomic.Bool
		looked := make(chan struct{})
		look := sync.OnceFunc(func() { close(looked) })
		defer look()
		r.proxy.Hook(func(c sim.Call) faultproxy.Fault {
			switch {
			case c.UserAgent != agent:
			case c.Method == "CloneVM_Task" && lost.CompareAndSwap(false, true):
				return faultproxy.Fault{Act: faultproxy.CutAfter}
			case lost.Load() && c.Method != "CloneVM_Task":
				<-looked // the VM becomes visible only after the check of operations in flight
			}
			return faultproxy.Fault{}
		})
		must(t, r.server.Clone(r.ctx, r.request(0)))
		o := r.observe()
		if len(o.InFlight) != 1 || !o.InFlight[0].OutcomeUnknown {
			t.Fatalf("in flight: %+v, want one of unknown outcome", o.InFlight)
		}
		wantKind(t, r.server.Clone(r.ctx, r.request(0)), vsphere.KindBusy)
		look()
		r.settled(0)
	})
}

func TestRequestThatNeverArrivedIsSettled(t *testing.T) {
	r := newRig(t, govmomi.Poll).ensure()
	looked := make(chan struct{})
	look := sync.OnceFunc(func() { close(looked) })
	t.Cleanup(look)
	r.proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if c.Method == "CloneVM_Task" {
			return faultproxy.Fault{Act: faultproxy.CutBefore}
		}
		if c.UserAgent == agent {
			<-looked // the operation is settled only after the check of operations in flight
		}
		return faultproxy.Fault{}
	})
	must(t, r.server.Clone(r.ctx, r.request(0)))
	if o := r.observe(); len(o.InFlight) != 1 || !o.InFlight[0].OutcomeUnknown {
		t.Fatalf("in flight: %+v", o.InFlight)
	}
	look()
	r.until("nothing in flight", func() bool { return len(r.observe().InFlight) == 0 })
	if o := r.observe(); len(o.VMs) != 0 || !o.Complete {
		t.Errorf("observation: %+v", o)
	}
	// The slot is returned shortly after the operation leaves the operations in flight.
	r.until("no task is counted as running", func() bool { return r.server.Health().RunningTasks == 0 })
}

func TestClonesOfAPredecessorHoldTheObservation(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		released := make(chan struct{})
		release := sync.OnceFunc(func() { close(released) })
		t.Cleanup(release)
		r := newRig(t, mode, func(o *sim.Options, _ *govmomi.Config) {
			o.HoldClone = func(string) (<-chan struct{}, bool) { return released, false }
		}).ensure()
		// The predecessor clones and ends when its successor asks for the running tasks.
		predecessor, end, clone := r.server, r.stop, r.request(0)
		var submitted atomic.Bool
		r.proxy.Hook(func(sim.Call) faultproxy.Fault {
			return faultproxy.Fault{Rewrite: func(body []byte) []byte {
				if bytes.Contains(body, []byte("recentTask")) && submitted.CompareAndSwap(false, true) {
					if err := predecessor.Clone(r.ctx, clone); err != nil {
						t.Error(err)
					}
					end()
				}
				return body
			}}
		})
		r.start()
		r.until("the clone is noticed", func() bool {
			o := r.observe()
			return r.server.Health().Complete && !o.Complete && strings.Contains(o.Incomplete, "Clones started before this process")
		})
		r.until("all groups are notified that the inventory is complete", r.told.toldComplete)
		told := r.told.count(group.Key())
		release()
		r.until("complete with the VM", func() bool {
			o := r.observe()
			_, ok := find(o, 0)
			if o.Complete && !ok {
				t.Fatal("complete without the predecessor's VM")
			}
			return o.Complete && ok
		})
		r.toldAfter(told)
	})
}

func TestUnreachableIsIncomplete(t *testing.T) {
	r := newRig(t, govmomi.Poll).ensure()
	r.clone(0)
	var down atomic.Bool
	down.Store(true)
	r.proxy.Hook(func(sim.Call) faultproxy.Fault {
		if down.Load() {
			return faultproxy.Fault{Act: faultproxy.CutBefore}
		}
		return faultproxy.Fault{}
	})
	r.until("unreachable", func() bool { h := r.server.Health(); return !h.Reachable && !h.Complete && h.Err != nil })
	o := r.observe()
	if o.Complete || len(o.VMs) != 1 || len(o.Gone) != 0 {
		t.Errorf("observation while unreachable: %+v", o)
	}
	wantKind(t, r.server.Clone(r.ctx, r.request(1)), vsphere.KindTransient)
	down.Store(false)
	r.until("back", func() bool { o := r.observe(); return o.Complete && len(o.VMs) == 1 })
}

func TestRefusals(t *testing.T) {
	r := newRig(t, govmomi.Poll).ensure()
	vm := r.clone(0)
	wantKind(t, r.server.Destroy(r.ctx, vsphere.Target{VM: vm.Ref, ID: group, Ordinal: 5}), vsphere.KindForeign)
	other := group
	other.Group = "group-2"
	wantKind(t, r.server.PowerOff(r.ctx, vsphere.Target{VM: vm.Ref, ID: other}), vsphere.KindForeign)
	must(t, r.server.PowerOff(r.ctx, target(vm))) // off already: no error
	r.until("nothing in flight", func() bool { return len(r.observe().InFlight) == 0 })
	if f := r.observe().Failures; len(f) != 1 || f[0].Ordinal != 5 || f[0].Kind != vsphere.OpDestroy {
		t.Errorf("failures: %+v, want that of ordinal 5", f)
	}
}

func TestACloneIntoAFolderThatIsMissingSaysWhetherItIsLookedUpOrGone(t *testing.T) {
	r := newRig(t, govmomi.Poll).ensure()
	request := r.request(0)
	request.Folder = vsphere.FolderRef("group-never-heard-of")
	wantKind(t, r.server.Clone(r.ctx, request), vsphere.KindTransient)
	must(t, r.server.DestroyFolder(r.ctx, r.folder.Ref))
	r.until("the folder is deleted", func() bool { return r.observe().FolderGone })
	wantKind(t, r.server.Clone(r.ctx, r.request(0)), vsphere.KindNotFound)
}

func TestAFolderWithACloneOnItsWayIsKept(t *testing.T) {
	r := newRig(t, govmomi.Poll, cloneDelay(500*time.Millisecond)).ensure()
	r.observe() // the folder belongs to the group from now on
	must(t, r.server.Clone(r.ctx, r.request(0)))
	wantKind(t, r.server.DestroyFolder(r.ctx, r.folder.Ref), vsphere.KindNotEmpty)
	r.settled(0)
}

func TestFoldersOutsideAreNotDestroyed(t *testing.T) {
	r := newRig(t, govmomi.Poll).connected()
	index := object.NewSearchIndex(r.person.Client())
	for path, kind := range map[string]vsphere.Kind{
		"/DC0/vm/vm-operator": vsphere.KindForeign, "/DC0/vm": vsphere.KindForeign, "/DC0/host": vsphere.KindForeign,
	} {
		found, err := index.FindByInventoryPath(r.ctx, path)
		must(t, err)
		wantKind(t, r.server.DestroyFolder(r.ctx, vsphere.FolderRef(found.Reference().Value)), kind)
	}
}
