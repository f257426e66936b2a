package sim_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	root     = "/DC0/vm"
	ordinary = root + "/db-prod-0"
	template = root + "/vm-operator-template"
)

// hand is a vCenter user, with the helpers that the tests of rules need.
type hand struct {
	*sim.Operator
	t    *testing.T
	ctx  context.Context
	find *find.Finder
}

func newHand(t *testing.T, p *sim.Operator) hand {
	return hand{Operator: p, t: t, ctx: t.Context(), find: find.NewFinder(p.Client())}
}

// person starts a simulator and logs a user in.
func person(t *testing.T, o sim.Options) hand {
	t.Helper()
	_, p := start(t, o)
	return newHand(t, p)
}

func (h hand) vm(path string) *object.VirtualMachine {
	h.t.Helper()
	vm, err := h.find.VirtualMachine(h.ctx, path)
	must(h.t, err)
	return vm
}

func (h hand) folder(path string) *object.Folder {
	h.t.Helper()
	f, err := h.find.Folder(h.ctx, path)
	must(h.t, err)
	return f
}

func (h hand) mkdir(parent, name string) *object.Folder {
	h.t.Helper()
	f, err := h.folder(parent).CreateFolder(h.ctx, name)
	must(h.t, err)
	return f
}

func (h hand) create(folder, name string) types.ManagedObjectReference {
	h.t.Helper()
	ref, err := h.CreateVM(h.ctx, folder, name)
	must(h.t, err)
	return ref
}

func (h hand) config(path string) *types.VirtualMachineConfigInfo {
	h.t.Helper()
	var props mo.VirtualMachine
	vm := h.vm(path)
	must(h.t, vm.Properties(h.ctx, vm.Reference(), []string{"config"}, &props))
	return props.Config
}

// done waits for a task and returns its error.
func (h hand) done(task *object.Task, err error) error {
	if err != nil {
		return err
	}
	return task.Wait(h.ctx)
}

// clone clones with a specification; the resource pool is added.
func (h hand) clone(source, folder, name string, change func(*types.VirtualMachineCloneSpec)) error {
	h.t.Helper()
	pool, err := h.find.ResourcePool(h.ctx, "/DC0/host/DC0_C0/Resources")
	must(h.t, err)
	ref := pool.Reference()
	spec := types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: &ref}}
	if change != nil {
		change(&spec)
	}
	return h.done(h.vm(source).Clone(h.ctx, h.folder(folder), name, spec))
}

func (h hand) paths() []string {
	h.t.Helper()
	vms, err := h.VMs(h.ctx)
	must(h.t, err)
	return slices.Sorted(maps.Keys(vms))
}

// until waits for a condition.
func (h hand) until(what string, holds func() bool) {
	h.t.Helper()
	await.True(h.t, what, holds)
}

func infoErr(h hand, task *object.Task) (types.TaskInfo, error) {
	var t mo.Task
	err := property.DefaultCollector(h.Client()).RetrieveOne(h.ctx, task.Reference(), []string{"info"}, &t)
	return t.Info, err
}

func infoOf(h hand, task *object.Task) types.TaskInfo {
	h.t.Helper()
	info, err := infoErr(h, task)
	must(h.t, err)
	return info
}

func recentTasks(h hand, of types.ManagedObjectReference) []types.ManagedObjectReference {
	h.t.Helper()
	var got []types.ObjectContent
	must(h.t, property.DefaultCollector(h.Client()).Retrieve(h.ctx, []types.ManagedObjectReference{of}, []string{"recentTask"}, &got))
	var out []types.ManagedObjectReference
	for _, o := range got {
		for _, p := range o.PropSet {
			refs, _ := p.Val.(types.ArrayOfManagedObjectReference)
			out = append(out, refs.ManagedObjectReference...)
		}
	}
	return out
}

// refused checks that an error is, or contains, a fault of a type, and returns the fault.
func refused[T any](t *testing.T, err error) (f T) {
	t.Helper()
	if _, ok := fault.As(err, &f); !ok {
		t.Errorf("got error %v, want a %T", err, f)
	}
	return f
}
