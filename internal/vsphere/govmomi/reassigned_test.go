package govmomi_test

import (
	"bytes"
	"testing"

	"github.com/google/uuid"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestACloneWithAnotherUUIDIsSeenTogetherWithItsOperationUntilItIsRecorded(t *testing.T) {
	r := newRig(t, govmomi.Poll).ensure()
	req := r.request(0)
	assigned := uuid.NewString()
	r.proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if c.Method != "CloneVM_Task" {
			return faultproxy.Fault{}
		}
		return faultproxy.Fault{Rewrite: func(body []byte) []byte {
			return bytes.ReplaceAll(body, []byte(req.UUID), []byte(assigned))
		}}
	})
	must(t, r.server.Clone(r.ctx, req))
	var vm vsphere.VM
	r.until("the VM is seen, with its operation", func() bool {
		o := r.observe()
		var ok bool
		vm, ok = find(o, 0)
		if ok && len(o.InFlight) == 0 {
			t.Fatal("the VM was seen without the operation that proves whose it is")
		}
		return ok && o.InFlight[0].VM == vm.Ref
	})
	if vm.InstanceUUID != assigned {
		t.Fatalf("the VM has UUID %s, the test wants %s", vm.InstanceUUID, assigned)
	}
	told := r.told.count(group.Key())
	r.until("the group is notified", func() bool { return r.told.count(group.Key()) > told })
	if o := r.observe(vm.Ref); len(o.InFlight) != 0 || len(o.VMs) != 1 {
		t.Errorf("after the group recorded it: %+v", o)
	}
}

func TestACloneThatFindsItsNameInAFolderThatWasJustMovedOutBacksOff(t *testing.T) {
	r := newRig(t, govmomi.Poll, resyncOften).ensure()
	vm := r.clone(0)
	// The index does not know the move when the request is sent: the hook makes the move.
	moved := false
	r.proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if c.Method == "CloneVM_Task" && !moved {
			moved = true
			must(t, r.person.MoveFolder(r.ctx, r.folder.Path, "/DC0/vm"))
		}
		return faultproxy.Fault{}
	})
	again := r.request(0)
	must(t, r.server.Clone(r.ctx, again))
	// A listing from before the move can still show the VM that has the name. Then nothing has failed, and the next
	// listing shows the folder elsewhere.
	r.until("the failure is recorded, or the move known", func() bool {
		o := r.observe(vm.Ref)
		if len(o.InFlight) > 0 {
			return false
		}
		if len(o.Failures) == 0 {
			return o.FolderElsewhere
		}
		return len(o.Failures) == 1 && o.Failures[0].Kind == vsphere.OpClone && o.Failures[0].RetryAt.After(o.Failures[0].At)
	})
	r.until("the folder is elsewhere", func() bool { return r.observe(vm.Ref).FolderElsewhere })
	sent := r.proxy.Count("CloneVM_Task", agent)
	wantKind(t, r.server.Clone(r.ctx, again), vsphere.KindConflict)
	if n := r.proxy.Count("CloneVM_Task", agent); n != sent {
		t.Error("a clone was sent into a folder outside of the root")
	}
}

func TestAVMThatIsDeletedOutsideOfTheRootIsFoundGone(t *testing.T) {
	clock := newClock()
	r := newRig(t, govmomi.Poll, func(_ *sim.Options, cfg *govmomi.Config) { cfg.Now = clock.now }).ensure()
	vm, _ := r.clone(0), r.clone(1)
	must(t, r.person.Move(r.ctx, vmPath+"vg-0", "/DC0/vm"))
	r.until("elsewhere", func() bool { return len(r.observe(vm.Ref).Elsewhere) == 1 })
	// Before the deletion: the look-up of the last observation can already find it deleted.
	told := r.told.count(group.Key())
	must(t, r.person.Destroy(r.ctx, "/DC0/vm/vg-0"))
	clock.advance()
	// No pass observes: the next listing causes its look-up, and the group is notified.
	r.toldAfter(told)
	r.until("gone", func() bool { return len(r.observe(vm.Ref).Gone) == 1 })
}

func TestADeniedFolderIsAskedForOnceByAllGroupsOfItsNamespace(t *testing.T) {
	clock := newClock()
	r := newRig(t, govmomi.Poll, func(_ *sim.Options, cfg *govmomi.Config) { cfg.Now = clock.now }).ensure()
	foreign, err := r.person.CreateVM(r.ctx, "/DC0/vm/vm-operator/m", "taken")
	must(t, err)
	r.proxy.Reset()
	path := vsphere.FolderPath{Member: "m", Namespace: "taken", Leaf: "a.12345678"}
	for range 5 {
		_, err := r.server.EnsureFolder(r.ctx, path)
		wantKind(t, err, vsphere.KindNameTaken)
		path.Leaf += "x"
	}
	if n := r.proxy.Count("CreateFolder", agent); n != 1 {
		t.Errorf("vCenter was asked %d times, want once", n)
	}
	must(t, r.person.Rename(r.ctx, "/DC0/vm/vm-operator/m/taken", foreign.Value))
	clock.advance()
	_, err = r.server.EnsureFolder(r.ctx, path)
	must(t, err)
}
