package sim_test

import (
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const half = root + "/half"

// underWay starts a clone that runs until goOn is called, and waits until its VM exists.
func underWay(t *testing.T, course sim.Course) (h hand, task *object.Task, goOn func()) {
	t.Helper()
	released := make(chan struct{})
	goOn = sync.OnceFunc(func() { close(released) })
	course.Until = released
	h = person(t, sim.Options{Courses: func(name string) sim.Course {
		if name == "half" {
			return course
		}
		return sim.Course{}
	}})
	t.Cleanup(goOn)
	task, err := h.StartClone(h.ctx, template, root, "half", map[string]string{"k": "v"})
	must(t, err)
	h.until("the clone runs", func() bool { return infoOf(h, task).Progress > 0 })
	return h, task, goOn
}

func TestAVMIsSeenWithoutItsConfigurationWhileItsCloneRuns(t *testing.T) {
	h, task, goOn := underWay(t, sim.Course{})
	if config := h.config(half); config != nil {
		t.Errorf("its configuration is %+v", config)
	}
	vms, err := h.VMs(h.ctx)
	must(t, err)
	if vm := vms[half]; vm.UUID != "" || len(vm.Extra) > 0 || vm.On {
		t.Errorf("it is listed as %+v", vm)
	}
	ref := h.vm(half).Reference()
	goOn()
	must(t, task.Wait(h.ctx))
	config := h.config(half)
	if value, _ := object.OptionValueList(config.ExtraConfig).GetString("k"); value != "v" || h.vm(half).Reference() != ref {
		t.Errorf("at the end extraConfig has k=%q, and the VM %v was %v", value, h.vm(half).Reference(), ref)
	}
	if result := infoOf(h, task).Result; result != ref {
		t.Errorf("the task made %v", result)
	}
}

func TestAVMMayBeSeenWithoutItsExtraConfigWhileItsCloneRuns(t *testing.T) {
	h, task, goOn := underWay(t, sim.Course{Shows: sim.WithoutExtraConfig})
	before := h.config(half)
	if before == nil || before.InstanceUuid == "" || len(before.ExtraConfig) > 0 {
		t.Errorf("its configuration is %+v", before)
	}
	goOn()
	must(t, task.Wait(h.ctx))
	if after := h.config(half); after.ChangeVersion == before.ChangeVersion || len(after.ExtraConfig) == 0 {
		t.Errorf("extraConfig has %d keys, and the change version %s was %s", len(after.ExtraConfig), after.ChangeVersion, before.ChangeVersion)
	}
}

func TestNobodyFindsAVMByItsUUIDOrTakesItsNameWhileItsCloneRuns(t *testing.T) {
	h, task, goOn := underWay(t, sim.Course{})
	ref := h.vm(half).Reference()
	_, err := h.CreateVM(h.ctx, root, "half")
	taken := refused[*types.DuplicateName](t, err)
	if taken != nil && taken.Object != ref {
		t.Errorf("the name is taken by %v, want %v", taken.Object, ref)
	}
	byInstance := true
	found := func(uuid string) int {
		list, err := object.NewSearchIndex(h.Client()).FindAllByUuid(h.ctx, nil, uuid, true, &byInstance)
		must(t, err)
		return len(list)
	}
	whole := h.config(ordinary).InstanceUuid
	if found(whole) != 1 || found("") != 0 {
		t.Errorf("%d VMs are found by the UUID of a whole one, and %d by none", found(whole), found(""))
	}
	goOn()
	must(t, task.Wait(h.ctx))
	if uuid := h.config(half).InstanceUuid; found(uuid) != 1 {
		t.Errorf("%d VMs are found by %s", found(uuid), uuid)
	}
}

func TestAVMIsNotFoundByTheUUIDThatItsCloneGivesIt(t *testing.T) {
	const uuid = "8a1c0f4e-0000-4000-8000-000000000002"
	released := make(chan struct{})
	h := person(t, sim.Options{Courses: func(string) sim.Course { return sim.Course{Until: released} }})
	goOn := sync.OnceFunc(func() { close(released) })
	t.Cleanup(goOn)
	pool, err := h.find.ResourcePool(h.ctx, "/DC0/host/DC0_C0/Resources")
	must(t, err)
	at := pool.Reference()
	task, err := h.vm(template).Clone(h.ctx, h.folder(root), "half", types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{Pool: &at}, Config: &types.VirtualMachineConfigSpec{InstanceUuid: uuid},
	})
	must(t, err)
	h.until("the clone runs", func() bool { return infoOf(h, task).Progress > 0 })
	byInstance := true
	for _, want := range []int{0, 1} {
		found, err := object.NewSearchIndex(h.Client()).FindAllByUuid(h.ctx, nil, uuid, true, &byInstance)
		must(t, err)
		if len(found) != want {
			t.Errorf("%d VMs are found, want %d", len(found), want)
		}
		goOn()
		must(t, task.Wait(h.ctx))
	}
}

func TestAVMIsNotChangedWhileItsCloneRuns(t *testing.T) {
	h, task, goOn := underWay(t, sim.Course{})
	vm := h.vm(half)
	_, powerOn := vm.PowerOn(h.ctx)
	_, destroy := vm.Destroy(h.ctx)
	_, rename := vm.Rename(h.ctx, "other")
	_, move := h.mkdir(root, "elsewhere").MoveInto(h.ctx, []types.ManagedObjectReference{vm.Reference()})
	for what, err := range map[string]error{"power on": powerOn, "destroy": destroy, "rename": rename, "move": move, "unregister": vm.Unregister(h.ctx)} {
		var busy *types.TaskInProgress
		if _, ok := fault.As(err, &busy); !ok || busy.Task != task.Reference() {
			t.Errorf("%s: %v", what, err)
		}
	}
	goOn()
	must(t, task.Wait(h.ctx))
	must(t, h.PowerOn(h.ctx, half))
}

func TestAFolderIsNotDestroyedWhileACloneMakesAVMInIt(t *testing.T) {
	released := make(chan struct{})
	h := person(t, sim.Options{Courses: func(string) sim.Course { return sim.Course{Until: released} }})
	goOn := sync.OnceFunc(func() { close(released) })
	t.Cleanup(goOn)
	f := h.mkdir(root, "f")
	task, err := h.StartClone(h.ctx, template, root+"/f", "half", nil)
	must(t, err)
	h.until("the clone runs", func() bool { return infoOf(h, task).Progress > 0 })
	refused[*types.TaskInProgress](t, h.done(f.Destroy(h.ctx)))
	goOn()
	must(t, task.Wait(h.ctx))
	must(t, h.done(f.Destroy(h.ctx)))
}

func TestACloneThatFailsMayLeaveItsVMForAWhile(t *testing.T) {
	for _, shows := range []sim.Making{sim.WithoutConfig, sim.WithoutExtraConfig} {
		left := make(chan struct{})
		h, task, goOn := underWay(t, sim.Course{Shows: shows, Fails: true, Leaves: left})
		goOn()
		refused[*types.FileFault](t, task.Wait(h.ctx))
		if config := h.config(half); (config == nil) != (shows == sim.WithoutConfig) || config != nil && len(config.ExtraConfig) > 0 {
			t.Errorf("%v: its configuration is %+v", shows, config)
		}
		_, err := h.vm(half).PowerOn(h.ctx)
		refused[*types.InvalidState](t, err)
		refused[*types.DuplicateName](t, h.clone(template, root, "half", nil))
		close(left)
		h.until("the VM is deleted", func() bool {
			vms, err := h.VMs(h.ctx)
			must(t, err)
			_, there := vms[half]
			return !there
		})
	}
}

func TestWhatAFailedCloneHasLeftCanBeDestroyed(t *testing.T) {
	h, task, goOn := underWay(t, sim.Course{Fails: true, Leaves: make(chan struct{})})
	goOn()
	refused[*types.FileFault](t, task.Wait(h.ctx))
	must(t, h.done(h.vm(half).Destroy(h.ctx)))
	must(t, h.clone(template, root, "another", nil))
}

func TestACloneThatFailsLeavesNoVMOtherwise(t *testing.T) {
	for _, shows := range []sim.Making{sim.WithoutConfig, sim.Unseen} {
		h := person(t, sim.Options{Courses: func(string) sim.Course { return sim.Course{Shows: shows, Fails: true} }})
		refused[*types.FileFault](t, h.clone(template, root, "half", nil))
		if got := h.paths(); len(got) != 2 {
			t.Errorf("VMs are %v", got)
		}
	}
}

func TestACloneThatIsCanceledRemovesTheVMThatIsSeen(t *testing.T) {
	h, task, _ := underWay(t, sim.Course{})
	must(t, task.Cancel(h.ctx))
	refused[*types.RequestCanceled](t, task.Wait(h.ctx))
	if got := h.paths(); len(got) != 2 {
		t.Errorf("VMs are %v", got)
	}
}

// TestAPageOfAListingShowsNoMoreOfAVMWhileItsCloneRuns: a separate call reads the second page.
func TestAPageOfAListingShowsNoMoreOfAVMWhileItsCloneRuns(t *testing.T) {
	h, _, _ := underWay(t, sim.Course{})
	refs := []types.ManagedObjectReference{h.vm(ordinary).Reference(), h.vm(half).Reference()}
	spec := types.PropertyFilterSpec{PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"config.extraConfig"}}}}
	for _, ref := range refs {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: ref})
	}
	first, err := methods.RetrievePropertiesEx(h.ctx, h.Client(), &types.RetrievePropertiesEx{
		This: h.Client().ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{spec}, Options: types.RetrieveOptions{MaxObjects: 1},
	})
	must(t, err)
	second, err := methods.ContinueRetrievePropertiesEx(h.ctx, h.Client(), &types.ContinueRetrievePropertiesEx{
		This: h.Client().ServiceContent.PropertyCollector, Token: first.Returnval.Token,
	})
	must(t, err)
	for _, o := range append(first.Returnval.Objects, second.Returnval.Objects...) {
		if shown, want := len(o.PropSet) > 0, o.Obj == refs[0]; shown != want {
			t.Errorf("of %v is shown %v", o.Obj, o.PropSet)
		}
	}
}

// TestAWatchTellsThatAVMIsWhole: only its configuration changes when its clone ends.
func TestAWatchTellsThatAVMIsWhole(t *testing.T) {
	h, task, goOn := underWay(t, sim.Course{})
	collector, err := methods.CreatePropertyCollector(h.ctx, h.Client(), &types.CreatePropertyCollector{This: h.Client().ServiceContent.PropertyCollector})
	must(t, err)
	_, err = methods.CreateFilter(h.ctx, h.Client(), &types.CreateFilter{This: collector.Returnval, Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: h.vm(half).Reference()}},
		PropSet:   []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"name", "config.changeVersion"}}},
	}})
	must(t, err)
	version := ""
	names := func() map[string]bool {
		got, err := methods.WaitForUpdatesEx(h.ctx, h.Client(), &types.WaitForUpdatesEx{
			This: collector.Returnval, Version: version, Options: &types.WaitOptions{MaxWaitSeconds: types.NewInt32(60)},
		})
		must(t, err)
		version = got.Returnval.Version
		changed := map[string]bool{}
		for _, change := range got.Returnval.FilterSet[0].ObjectSet[0].ChangeSet {
			changed[change.Name] = true
		}
		return changed
	}
	if first := names(); !first["name"] || first["config.changeVersion"] {
		t.Errorf("at first it reports %v", first)
	}
	goOn()
	must(t, task.Wait(h.ctx))
	if news := names(); !news["config.changeVersion"] || news["name"] {
		t.Errorf("then it reports %v", news)
	}
}

func TestACloneShowsItsProgress(t *testing.T) {
	h := person(t, sim.Options{CloneDelay: 200 * time.Millisecond})
	task, err := h.StartClone(h.ctx, template, root, "half", nil)
	must(t, err)
	await.NoError(t, "the VM of the clone", func() error { // the answer to the request comes before it
		_, err := h.find.VirtualMachine(h.ctx, half)
		return err
	})
	var vm mo.VirtualMachine
	must(t, h.vm(half).Properties(h.ctx, h.vm(half).Reference(), []string{"name"}, &vm))
	must(t, task.Wait(h.ctx))
	if progress := infoOf(h, task).Progress; progress == 0 {
		t.Error("the task never showed any")
	}
}

func TestWhatIsShownOfAVMHasANameForAFlag(t *testing.T) {
	for _, shows := range []sim.Making{sim.WithoutConfig, sim.WithoutExtraConfig, sim.Unseen} {
		text, err := shows.MarshalText()
		must(t, err)
		var read sim.Making
		must(t, read.UnmarshalText(text))
		if read != shows {
			t.Errorf("%s is read as %d", text, read)
		}
	}
	if new(sim.Making).UnmarshalText([]byte("whole")) == nil {
		t.Error("anything goes")
	}
}
