package sim_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestADestroyedFolderTakesWhatIsInIt(t *testing.T) {
	h := person(t, sim.Options{})
	f := h.mkdir(root, "f")
	h.mkdir(root+"/f", "g")
	h.create(root+"/f", "a")
	h.create(root+"/f/g", "b")
	must(t, h.done(f.Destroy(h.ctx)))
	if got := h.paths(); !slices.Equal(got, []string{ordinary, template}) {
		t.Errorf("left are %v", got)
	}
	_, err := f.Children(h.ctx)
	refused[*types.ManagedObjectNotFound](t, err)
	if children, err := h.folder(root).Children(h.ctx); err != nil || len(children) != 2 {
		t.Errorf("the folder above holds %v (%v)", children, err)
	}
}

func TestAFolderWithARunningVMIsNotDestroyed(t *testing.T) {
	h := person(t, sim.Options{})
	f := h.mkdir(root, "f")
	h.create(root+"/f", "a")
	h.create(root+"/f", "b")
	must(t, h.PowerOn(h.ctx, root+"/f/b"))
	refused[*types.InvalidPowerState](t, h.done(f.Destroy(h.ctx)))
	if got := h.paths(); !slices.Contains(got, root+"/f/b") {
		t.Errorf("the running VM was deleted: %v", got)
	}
	refused[*types.NotSupported](t, h.done(h.folder(root).Destroy(h.ctx)))
}

func TestAFolderThatIsDestroyedDuringClonesLeavesNoOrphans(t *testing.T) {
	h := person(t, sim.Options{Templates: []string{"vm-operator-template", "other"}})
	for range 5 {
		f := h.mkdir(root, "f")
		names := []string{"a", "b", "c"}
		tasks := make([]*object.Task, 0, len(names))
		for _, name := range names {
			task, err := h.StartClone(h.ctx, template, root+"/f", name, nil)
			must(t, err)
			tasks = append(tasks, task)
		}
		destroy := func() error { return h.done(f.Destroy(h.ctx)) }
		err := destroy()
		for fault.Is(err, &types.TaskInProgress{}) { // a VM is being created in it
			err = destroy()
		}
		must(t, err)
		for _, task := range tasks {
			if err := task.Wait(h.ctx); err != nil {
				refused[*types.ManagedObjectNotFound](t, err)
			}
		}
		if got := h.paths(); len(got) != 3 {
			t.Fatalf("left are %v", got)
		}
	}
}

func TestVMsAreDestroyedOnce(t *testing.T) {
	h := person(t, sim.Options{})
	vm := h.vm(ordinary)
	var tasks []*object.Task
	for range 4 {
		if task, err := vm.Destroy(h.ctx); err != nil {
			refused[*types.ManagedObjectNotFound](t, err)
		} else {
			tasks = append(tasks, task)
		}
	}
	succeeded := 0
	for _, task := range tasks {
		if err := task.Wait(h.ctx); err == nil {
			succeeded++
		} else {
			refused[*types.ManagedObjectNotFound](t, err)
		}
	}
	if succeeded != 1 {
		t.Errorf("%d of %d destructions succeeded", succeeded, len(tasks))
	}
}

func TestANameInAFolderIsTakenWhateverItsCase(t *testing.T) {
	h := person(t, sim.Options{})
	f := h.mkdir(root, "f")
	taken := h.create(root+"/f", "Web-0")
	inside := h.mkdir(root+"/f", "Inside")
	h.create(root+"/f", "mine")
	h.create(root, "web-0")
	try := map[string]struct {
		err   error
		owner types.ManagedObjectReference
	}{}
	add := func(what string, owner types.ManagedObjectReference, err error) {
		try[what] = struct {
			err   error
			owner types.ManagedObjectReference
		}{err, owner}
	}
	_, err := h.CreateVM(h.ctx, root+"/f", "web-0")
	add("create", taken, err)
	add("clone", taken, h.clone(template, root+"/f", "WEB-0", nil))
	add("rename", taken, h.Rename(h.ctx, root+"/f/mine", "web-0"))
	add("reconfigure", taken, h.done(h.vm(root+"/f/mine").Reconfigure(h.ctx, types.VirtualMachineConfigSpec{Name: "web-0"})))
	add("move", taken, h.Move(h.ctx, root+"/web-0", root+"/f"))
	_, err = f.CreateFolder(h.ctx, "inside")
	add("create a folder", inside.Reference(), err)
	_, err = f.CreateFolder(h.ctx, "web-0")
	add("create a folder with a VM's name", taken, err)
	for what, got := range try {
		d := refused[*types.DuplicateName](t, got.err)
		if d != nil && d.Object != got.owner {
			t.Errorf("%s: the name is said to be %v's, want %v", what, d.Object, got.owner)
		}
	}
	must(t, h.Rename(h.ctx, root+"/f/Web-0", "WEB-0"))
	must(t, h.Rename(h.ctx, root+"/f/WEB-0", "free"))
	must(t, h.Rename(h.ctx, root+"/f/free", "free"))

	// Three characters are stored escaped.
	h.mkdir(root, "a/b")
	for _, name := range []string{"A/b", "a%2Fb"} {
		_, err := h.folder(root).CreateFolder(h.ctx, name)
		refused[*types.DuplicateName](t, err)
	}
}

func TestTwoTemplatesRaceForOneName(t *testing.T) {
	h := person(t, sim.Options{Templates: []string{"vm-operator-template", "other"}})
	h.mkdir(root, "f")
	for range 8 {
		var wg sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			source := []string{template, root + "/other"}[i%2]
			wg.Go(func() {
				task, err := h.StartClone(h.ctx, source, root+"/f", "one", nil)
				if err == nil {
					err = task.Wait(h.ctx)
				}
				errs[i] = err
			})
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else if !fault.Is(err, &types.DuplicateName{}) {
				t.Fatal(errors.Join(errs...))
			}
		}
		if got := h.paths(); won != 1 || len(got) != 4 {
			t.Fatalf("%d clones succeeded; there are %v", won, got)
		}
		must(t, h.Destroy(h.ctx, root+"/f/one"))
	}
}

func TestNamesHaveALength(t *testing.T) {
	h := person(t, sim.Options{})
	long := strings.Repeat("x", 81)
	_, err := h.folder(root).CreateFolder(h.ctx, long)
	refused[*types.InvalidName](t, err)
	refused[*types.InvalidName](t, h.clone(template, root, long, nil))
	refused[*types.InvalidName](t, h.Rename(h.ctx, ordinary, long))
	_, err = h.CreateVM(h.ctx, root, long)
	refused[*types.InvalidName](t, err)
	h.mkdir(root, long[:80])
}

func TestAFolderDoesNotMoveIntoItself(t *testing.T) {
	h := person(t, sim.Options{})
	h.mkdir(root, "f")
	h.mkdir(root+"/f", "g")
	refused[*types.InvalidFolder](t, h.MoveFolder(h.ctx, root+"/f", root+"/f/g"))
	h.create(root+"/f", "a")
	must(t, h.MoveFolder(h.ctx, root+"/f/g", root))
	if got := h.paths(); !slices.Contains(got, root+"/f/a") {
		t.Errorf("VMs are %v", got)
	}
}
