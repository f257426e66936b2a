package govmomi_test

import (
	"bytes"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// TestCallsPerClone clones and powers on 48 VMs, 16 at a time, and counts the calls from outside the server.
func TestCallsPerClone(t *testing.T) {
	const vms, wide = 48, 16
	r := newRig(t, govmomi.Poll, cloneDelay(200*time.Millisecond), func(_ *sim.Options, cfg *govmomi.Config) {
		cfg.PollInterval = time.Hour // only the calls of the operations count
	}).ensure()
	r.proxy.Reset()
	began := time.Now()
	next, on := int32(0), map[int32]bool{}
	r.until("all are on", func() bool {
		o := r.observe()
		busy := map[int32]bool{}
		for _, op := range o.InFlight {
			busy[op.Ordinal] = true
		}
		running := 0
		for _, vm := range o.VMs {
			n := vm.Stamp.Ordinal
			if vm.Power == vsphere.PoweredOn {
				running++
			} else if !busy[n] && !on[n] {
				on[n] = true
				must(t, r.server.PowerOn(r.ctx, target(vm)))
				busy[n] = true
			}
		}
		for ; next < vms && len(busy) < wide; next++ {
			must(t, r.server.Clone(r.ctx, r.request(next)))
			busy[next] = true
		}
		return running == vms
	})
	took := time.Since(began)
	calls := r.proxy.Count("", agent)
	t.Logf("%d calls for %d clones in %s: %.2f each: %v", calls, vms, took, float64(calls)/vms, r.proxy.Calls())
	for _, method := range []string{"CloneVM_Task", "PowerOnVM_Task"} {
		if n := r.proxy.Count(method, agent); n != vms {
			t.Errorf("%d calls of %s, want %d", n, method, vms)
		}
	}
	// The clone and the power-on are two calls; all VMs share the other cost of watching. On a busy machine it takes longer: tasks are read at most every
	// 50 ms, and each time a second call can read the VMs of clones that have ended.
	const look = 50 * time.Millisecond
	if most := max(3*vms, 2*vms+2*int(took/look)); calls > most {
		t.Errorf("%d calls for %d VMs in %s, want %d at most", calls, vms, took, most)
	}
}

func TestBudgetIsRespected(t *testing.T) {
	r := newRig(t, govmomi.Poll, cloneDelay(100*time.Millisecond), func(_ *sim.Options, cfg *govmomi.Config) {
		cfg.Limits = budget.Limits{Tasks: 3, TasksPerHost: 2}
	}).ensure()
	host := r.request(0).Template.Host
	most, next := 0, int32(0)
	r.until("six VMs", func() bool {
		most = max(most, r.server.Health().RunningTasks)
		if next < 6 {
			slots := r.server.Acquire(group.Key(), host, int(6-next))
			for range slots.Granted() {
				must(t, r.server.Clone(r.ctx, r.request(next)))
				next++
			}
			slots.Release()
			most = max(most, r.server.Health().RunningTasks)
		}
		o := r.observe()
		return len(o.VMs) == 6 && len(o.InFlight) == 0
	})
	if most > 2 || most == 0 {
		t.Errorf("%d tasks ran at a time, want at most 2", most)
	}
	r.until("no task is counted any more", func() bool { return r.server.Health().RunningTasks == 0 })
}

func TestManyGroupsShareFolders(t *testing.T) {
	// A listing that began while folders were created does not have them all. Until the next one, these are unconfirmed
	// and requested once more.
	r := newRig(t, govmomi.Poll, func(_ *sim.Options, cfg *govmomi.Config) { cfg.PollInterval = time.Hour }).connected()
	r.proxy.Reset()
	var wg sync.WaitGroup
	var mu sync.Mutex
	folders := map[vsphere.Ref]bool{}
	for i := range 20 {
		wg.Go(func() {
			f, err := r.server.EnsureFolder(r.ctx, vsphere.FolderPath{Member: "m", Namespace: "ns", Leaf: string(rune('a' + i))})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			folders[f.Ref] = true
		})
	}
	wg.Wait()
	if n := r.proxy.Count("CreateFolder", agent); len(folders) != 20 || n != 22 {
		t.Errorf("%d folders with %d calls, want 20 and 22", len(folders), n)
	}
	must(t, func() error {
		_, err := r.server.EnsureFolder(r.ctx, vsphere.FolderPath{Member: "m", Namespace: "ns", Leaf: "a"})
		return err
	}())
	if n := r.proxy.Count("CreateFolder", agent); n != 22 {
		t.Errorf("a known folder cost a call")
	}
}

// TestFoldersOfAnotherProcess are found although they were created after the last listing.
func TestFoldersOfAnotherProcess(t *testing.T) {
	r := newRig(t, govmomi.Poll, func(_ *sim.Options, cfg *govmomi.Config) { cfg.PollInterval = time.Hour }).connected()
	first := r.server
	r.start()
	r.connected()
	path := vsphere.FolderPath{Member: "m", Namespace: "ns", Leaf: "x"}
	a, err := first.EnsureFolder(r.ctx, path)
	must(t, err)
	b, err := r.server.EnsureFolder(r.ctx, path)
	must(t, err)
	if a.Ref != b.Ref || b.Path != "/DC0/vm/vm-operator/m/ns/x" {
		t.Errorf("%+v and %+v", a, b)
	}
}

// The read of a task that exceeds its expected duration is repeated after pauses that double. Each clone hangs until the next read is seconds away, so that only
// the update of the watch causes the reads that count. vCenter can show the VM slightly before the end of the task, and then another read is needed.
func TestAWatchNeedsOneReadForTheVMAndTheTaskOfAClone(t *testing.T) {
	const hangs, attempts = 2 * time.Second, 5
	var released sync.Map
	hold := func(name string) chan struct{} {
		held, _ := released.LoadOrStore(name, make(chan struct{}))
		return held.(chan struct{})
	}
	r := newRig(t, govmomi.Watch, func(o *sim.Options, _ *govmomi.Config) {
		o.HoldClone = func(name string) (<-chan struct{}, bool) { return hold(name), false }
	}).ensure()
	release := func(ordinal int32) { close(hold(r.request(ordinal).Name)) }
	release(0)
	r.clone(0) // the expected duration is not known before
	reads := 0
	for ordinal := int32(1); reads != 1 && ordinal <= attempts; ordinal++ {
		began := time.Now()
		var looked atomic.Bool
		r.proxy.Hook(func(sim.Call) faultproxy.Fault {
			return faultproxy.Fault{Edit: func(answer []byte) []byte {
				if time.Since(began) > hangs && bytes.Contains(answer, []byte(">running<")) {
					looked.Store(true)
				}
				return answer
			}}
		})
		must(t, r.server.Clone(r.ctx, r.request(ordinal)))
		r.until("the task is read after it exceeded its expected duration by far", looked.Load)
		r.proxy.Reset()
		release(ordinal)
		r.settled(ordinal)
		reads = r.proxy.Count("RetrievePropertiesEx", agent)
	}
	if reads != 1 {
		t.Errorf("%d reads for a VM and its task, want 1: %v", reads, r.proxy.Calls())
	}
}
