package sim

import (
	"fmt"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Making is the state that vCenter shows of a VM while the task that clones it runs.
type Making int

const (
	// WithoutConfig means that the VM is in the inventory, and its configuration is unset.
	WithoutConfig Making = iota
	// WithoutExtraConfig means that the configuration is set, except for extraConfig.
	WithoutExtraConfig
	// Unseen means that the VM is not in the inventory.
	Unseen
)

var makingNames = map[Making]string{WithoutConfig: "without-config", WithoutExtraConfig: "without-extra-config", Unseen: "unseen"}

// MarshalText implements encoding.TextMarshaler.
func (m Making) MarshalText() ([]byte, error) { return []byte(makingNames[m]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *Making) UnmarshalText(text []byte) error {
	for making, name := range makingNames {
		if name == string(text) {
			*m = making
			return nil
		}
	}
	return fmt.Errorf("%q is nothing that a vCenter may show of a VM while its clone runs", text)
}

// Course describes the progress of one clone.
type Course struct {
	// Shows is the visible state of the VM while the clone runs.
	Shows Making
	// Until, if not nil, delays the clone until it is closed, after Options.CloneDelay.
	Until <-chan struct{}
	// Fails makes the clone fail then.
	Fails bool
	// Leaves, if not nil, makes a failed clone keep its VM in the shown state until the channel is closed. Otherwise vCenter removes the VM
	// first.
	Leaves <-chan struct{}
}

// steps are the values of a task's progress while a clone copies the disks.
var steps = []int32{10, 30, 50, 70}

// lastStep is the progress of a clone whose disks are copied.
const lastStep = 95

// course returns the course of the clone of a VM with this name.
func (s *strict) course(name string) Course {
	if s.courses != nil {
		return s.courses(name)
	}
	return Course{Shows: s.shows}
}

// finish returns the part of a clone after the creation of its VM: it copies the disks, and the VM is complete at the end.
func (d *desk) finish(ctx *simulator.Context, s *submission, course Course) func(*simulator.Task, types.AnyType) (types.AnyType, types.BaseMethodFault) {
	return func(t *simulator.Task, res types.AnyType) (types.AnyType, types.BaseMethodFault) {
		ref, ok := res.(types.ManagedObjectReference)
		if !ok {
			return res, nil
		}
		s.copyDisks(ctx, t)
		d.strict.tasks.cancelable.Delete(t.Self)
		asked := canceled(ctx, t)
		var fault types.BaseMethodFault
		ctx.WithLock(treeRef, func() {
			switch {
			case d.strict.tasks.over:
				fault = &types.RequestCanceled{}
			case asked:
				d.remove(ctx, ref)
				fault = &types.RequestCanceled{}
			case course.Fails && course.Leaves == nil:
				d.remove(ctx, ref)
				fault = diskFault()
			case course.Fails:
				d.strict.makings.fail(ref)
				go d.clean(ctx, ref, course.Leaves)
				fault = diskFault()
			default:
				d.reveal(ctx, ref)
			}
		})
		if fault != nil {
			return nil, fault
		}
		return res, nil
	}
}

// copyDisks waits for the duration of the clone, and shows the progress of the task.
func (s *submission) copyDisks(ctx *simulator.Context, t *simulator.Task) {
	show := func(percent int32) {
		ctx.WithLock(t, func() { ctx.Update(t, []types.PropertyChange{{Name: "info.progress", Val: percent}}) })
	}
	if s.delay > 0 {
		for _, percent := range steps {
			show(percent)
			select {
			case <-time.NewTimer(s.delay / time.Duration(len(steps))).C:
			case <-s.canceled:
				return
			}
		}
	}
	if s.until == nil {
		return
	}
	show(lastStep)
	select {
	case <-s.until:
	case <-s.canceled:
	}
}

// reveal makes the whole VM visible. The caller holds the tree.
func (d *desk) reveal(ctx *simulator.Context, ref types.ManagedObjectReference) {
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return
	}
	ctx.WithLock(vm, func() {
		d.strict.makings.end(ref)
		moveVersion(ctx, vm)
	})
}

// remove destroys the VM of a failed clone. The caller holds the tree.
func (d *desk) remove(ctx *simulator.Context, ref types.ManagedObjectReference) {
	if vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine); ok {
		_ = destroyVM(ctx, vm)
	}
	d.strict.makings.end(ref)
}

// clean destroys the VM of a failed clone when until is closed. Contexts own locks, so clean needs its own context.
func (d *desk) clean(of *simulator.Context, ref types.ManagedObjectReference, until <-chan struct{}) {
	<-until
	ctx := *of
	submit(&ctx, &submission{})
	ctx.WithLock(treeRef, func() {
		if !d.strict.tasks.over {
			d.remove(&ctx, ref)
		}
	})
}

// diskFault is the fault of a failed clone.
func diskFault() types.BaseMethodFault { return &types.FileFault{File: "disk.vmdk"} }
