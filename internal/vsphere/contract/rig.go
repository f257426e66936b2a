package contract

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// patience is the time limit for a condition.
const patience = 90 * time.Second

// Rig is a connected server under test with an empty root folder. Its Person acts without the operator.
type Rig struct {
	Server vsphere.Server
	// Template is the name of a template for clones. No object has a name that begins with "missing".
	Template string
	// Network is the name of a network other than the template's.
	Network string
	// Person acts as a user of vCenter's own client.
	Person Person
	// Progress is called repeatedly while the test waits. It ends tasks that do not end on their own. It can be nil.
	Progress func()
}

// Person acts without the operator. The functions return after vCenter has executed the action. If it does not, they fail the test.
type Person struct {
	// AddVM creates a VM without a stamp.
	AddVM func(folder vsphere.Folder, name string)
	// CopyVM clones a VM with its configuration into the same folder.
	CopyVM func(folder vsphere.Folder, vm vsphere.VM, as string)
	// Delete deletes a powered-off VM. MoveOut moves one out of the operator's root folder.
	Delete, MoveOut func(folder vsphere.Folder, vm vsphere.VM)
	// Reregister removes a VM from the inventory and registers it again, outside of the operator's root folder or in its place. It returns the new
	// reference.
	Reregister func(folder vsphere.Folder, vm vsphere.VM, outside bool) vsphere.Ref
	// Outside is the folder that MoveOut moves VMs into, and OutsidePath its path.
	Outside     func() vsphere.Ref
	OutsidePath string
	// Unstamp removes the stamp of a VM. SetReleaseMark writes a release mark into one, or removes it if it is nil. Both leave everything else unchanged.
	Unstamp        func(folder vsphere.Folder, vm vsphere.VM)
	SetReleaseMark func(folder vsphere.Folder, vm vsphere.VM, mark *vsphere.ReleaseMark)
	// AttachDisk attaches a First Class Disk to a VM, and DetachDisk detaches it again.
	AttachDisk, DetachDisk func(folder vsphere.Folder, vm vsphere.VM)
	// SetTemplateInfo sets the template's guestinfo keys, and GuestInfo reads those of a VM.
	SetTemplateInfo func(keys map[string]string)
	GuestInfo       func(folder vsphere.Folder, vm vsphere.VM) map[string]string
	// Boots boots the guest of a powered-off VM with it. GuestWrites makes the guest of a running one write a guestinfo value.
	Boots       func(folder vsphere.Folder, vm vsphere.VM)
	GuestWrites func(folder vsphere.Folder, vm vsphere.VM, key, value string)
	// AllowHotAdd enables hot add of CPUs and memory for a powered-off VM.
	AllowHotAdd func(folder vsphere.Folder, vm vsphere.VM)
	// Snapshot takes a snapshot of a VM with the name "base", and RemoveSnapshots removes all of them. RootDiskGiB reads the capacity of a VM's first disk.
	Snapshot        func(folder vsphere.Folder, vm vsphere.VM)
	RemoveSnapshots func(folder vsphere.Folder, vm vsphere.VM)
	RootDiskGiB     func(folder vsphere.Folder, vm vsphere.VM) int32
	// DisksGiB reads the capacities of all disks of a VM, the first one first.
	DisksGiB func(folder vsphere.Folder, vm vsphere.VM) []int32
	// Network reads the first network adapter of a VM.
	Network func(folder vsphere.Folder, vm vsphere.VM) Adapter
	// AddTemplate creates a template with a release mark.
	AddTemplate func(name string, mark vsphere.ReleaseMark)
	// MoveFolderOut moves a folder with its content out of the operator's root folder.
	MoveFolderOut func(folder vsphere.Folder)
}

// Adapter is a network adapter: its network and its address.
type Adapter struct {
	Ref vsphere.Ref
	MAC string
}

var (
	path = vsphere.FolderPath{Member: "team-a", Namespace: "shop", Leaf: "web.0a1b2c3d"}
	id   = vsphere.GroupID{Installation: "inst-1", Member: "member-1", Group: "group-1"}
)

// run is one test of the contract.
type run struct {
	Rig
	t      *testing.T
	ctx    context.Context
	folder vsphere.Folder
	// asks is the group's query for guest values.
	asks vsphere.GuestInfoQuery
}

func newRun(t *testing.T, rig Rig) *run {
	t.Helper()
	r := &run{Rig: rig, t: t, ctx: vsphere.WithFence(t.Context(), func() error { return nil })}
	r.until("connected, with a complete inventory", func() bool {
		h := r.Server.Health()
		return h.Reachable && h.Complete
	})
	var err error
	r.folder, err = r.Server.EnsureFolder(r.ctx, path)
	r.ok(err)
	return r
}

// until waits for a condition.
func (r *run) until(what string, holds func() bool) {
	r.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if r.Progress != nil {
			r.Progress()
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			r.t.Fatalf("not within %v: %s\nhealth: %+v\nobserved: %+v", patience, what, r.Server.Health(), r.observe())
		}
	}
}

func (r *run) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// refused checks that an error is a *vsphere.Error of a kind.
func (r *run) refused(err error, kind vsphere.Kind) {
	r.t.Helper()
	var e *vsphere.Error
	if !errors.As(err, &e) || e.Kind != kind {
		r.t.Fatalf("got error %v, want one of kind %s", err, kind)
	}
}

// seek observes VMs that are recorded with their instance UUIDs.
func (r *run) seek(known ...vsphere.VM) vsphere.Observation {
	q := vsphere.Query{ID: id, Folder: r.folder.Ref}
	for _, vm := range known {
		q.Record(vm.Ref, vm.InstanceUUID)
	}
	return r.Server.Observe(q)
}

func (r *run) observe(known ...vsphere.Ref) vsphere.Observation {
	return r.Server.Observe(vsphere.Query{ID: id, Folder: r.folder.Ref, Known: known, GuestInfo: r.asks})
}

// settled waits until an observation is complete, has nothing in flight, and satisfies a condition.
func (r *run) settled(what string, known vsphere.Ref, holds func(vsphere.Observation) bool) vsphere.Observation {
	r.t.Helper()
	var o vsphere.Observation
	r.until(what, func() bool {
		o = r.observe(known)
		return o.Complete && len(o.InFlight) == 0 && holds(o)
	})
	return o
}

// vm waits until the VM of an ordinal is observed, settled, and satisfies a condition.
func (r *run) vm(what string, ordinal int32, holds func(vsphere.VM) bool) vsphere.VM {
	r.t.Helper()
	var vm vsphere.VM
	r.settled(what, vsphere.Ref{}, func(o vsphere.Observation) bool {
		var ok bool
		vm, ok = stamped(o, ordinal)
		return ok && holds(vm)
	})
	return vm
}

func stamped(o vsphere.Observation, ordinal int32) (vsphere.VM, bool) {
	for _, vm := range o.VMs {
		if vm.Stamp != nil && vm.Stamp.GroupID == id && vm.Stamp.Ordinal == ordinal {
			return vm, true
		}
	}
	return vsphere.VM{}, false
}

// request returns the request for the clone of an ordinal. While a user edits the template, it waits until the template is available again.
func (r *run) request(ordinal int32) vsphere.CloneRequest {
	r.t.Helper()
	var template vsphere.Template
	r.until("the template is there", func() bool {
		var err error
		template, err = r.Server.Template(r.Template)
		return err == nil
	})
	place, err := r.Server.Placement(vsphere.Placement{})
	r.ok(err)
	return vsphere.CloneRequest{
		Template: template, Folder: r.folder.Ref, Name: fmt.Sprintf("web-%d", ordinal), CPU: 2, MemoryMiB: 512, Placement: place,
		UUID: fmt.Sprintf("6ba7b810-9dad-51d1-80b4-%012d", ordinal),
		Stamp: vsphere.Stamp{
			GroupID: id, Ordinal: ordinal, Incarnation: 1, Revision: "1-0123456789", CloneMode: "Full",
			Epoch: vsphere.Epoch{Generation: 7, Number: 3}, Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		},
	}
}

// clone creates the VM of an ordinal.
func (r *run) clone(ordinal int32) vsphere.VM {
	r.t.Helper()
	return r.cloned(r.request(ordinal))
}

// cloneLarger creates the VM of an ordinal with a root disk that is 2 GiB larger than that of the template.
func (r *run) cloneLarger(ordinal int32) vsphere.VM {
	r.t.Helper()
	req := r.request(ordinal)
	req.RootDiskGiB = int32(req.Template.RootDiskBytes>>30) + 2
	return r.cloned(req)
}

func (r *run) cloned(req vsphere.CloneRequest) vsphere.VM {
	r.t.Helper()
	slots := r.Server.Acquire(id.Key(), req.Template.Host, 1)
	defer slots.Release()
	if slots.Granted() != 1 {
		r.t.Fatalf("granted %d slots, want 1", slots.Granted())
	}
	r.ok(r.Server.Clone(r.ctx, req))
	return r.vm("the clone is there", req.Stamp.Ordinal, func(vsphere.VM) bool { return true })
}

func target(vm vsphere.VM) vsphere.Target {
	return vsphere.Target{VM: vm.Ref, ID: id, Ordinal: vm.Stamp.Ordinal, Namespace: path.Namespace}
}
