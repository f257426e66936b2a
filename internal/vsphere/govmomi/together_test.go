package govmomi_test

import (
	"bytes"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// The answer with the end of a destruction still contains the VM.
func TestAVMIsNotGoneWhileVCenterShowsItAfterItsDestruction(t *testing.T) {
	removed := make(chan struct{})
	remove := sync.OnceFunc(func() { close(removed) })
	t.Cleanup(remove)
	r := newRig(t, govmomi.Poll, func(o *sim.Options, cfg *govmomi.Config) {
		o.HoldRemoval = func() <-chan struct{} { return removed }
		cfg.PollInterval = 3 * time.Second // a listing shows the VM again
	}).ensure()
	vm := r.clone(0)
	must(t, r.server.Mark(r.ctx, target(vm)))
	r.until("marked", func() bool { vm = r.settled(0); return vm.Tombstone })
	must(t, r.server.Destroy(r.ctx, target(vm)))
	r.until("the task has ended", func() bool { return r.server.Health().RunningTasks == 0 })
	must(t, r.server.Clone(r.ctx, r.request(1)))
	r.until("a later task has ended", func() bool { _, cloned := find(r.observe(), 1); return cloned })
	if o := r.observe(vm.Ref); len(o.Gone) > 0 {
		t.Error("vCenter still shows the VM, and it counts as deleted")
	}
	remove()
	r.until("gone", func() bool { return len(r.observe(vm.Ref).Gone) == 1 })
}

// A VM can be deleted while vCenter collects the properties of several objects. Then vCenter can answer the whole call with a fault.
func TestAReadOfTasksAndVMsThatFailsForOneVMIsRepeatedOverTheSameConnection(t *testing.T) {
	r := newRig(t, govmomi.Watch, cloneDelay(50*time.Millisecond)).ensure()
	r.clone(0)
	connects := func() int { return r.proxy.Count("FetchUserPrivilegeOnEntities", agent) }
	before := connects()
	var refused atomic.Bool
	r.proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if c.Method != "RetrievePropertiesEx" || c.UserAgent != agent {
			return faultproxy.Fault{}
		}
		var vm []byte
		lost := []byte("vm-lost")
		return faultproxy.Fault{
			Rewrite: func(request []byte) []byte {
				named := aVM.FindSubmatch(request)
				if named == nil || !bytes.Contains(request, []byte(`type="Task"`)) || !refused.CompareAndSwap(false, true) {
					return request
				}
				vm = named[1]
				request = bytes.Replace(request, []byte("<reportMissingObjectsInResults>true<"), []byte("<reportMissingObjectsInResults>false<"), 1)
				return bytes.ReplaceAll(request, vm, lost)
			},
			Edit: func(answer []byte) []byte {
				if vm == nil {
					return answer
				}
				if !bytes.Contains(answer, []byte("ManagedObjectNotFound")) {
					t.Errorf("the answer is %s", answer)
				}
				return bytes.ReplaceAll(answer, lost, vm)
			},
		}
	})
	for ordinal := int32(1); !refused.Load() && ordinal < 50; ordinal++ {
		r.clone(ordinal) // the task of a clone is read alone if the watch shows its VM late
	}
	if n := connects(); !refused.Load() || n != before {
		t.Errorf("a read was refused: %t; there were %d connections, want %d", refused.Load(), n, before)
	}
}

var aVM = regexp.MustCompile(`<obj type="VirtualMachine">([^<]+)</obj>`)
