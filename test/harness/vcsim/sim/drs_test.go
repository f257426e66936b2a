package sim_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const cluster = "DC0_C0"

// four are ordinary VMs, which are all on one host.
var four = []string{"a", "b", "c", "d"}

// multi powers VMs on through the datacenter, and waits until they are placed.
func (h hand) multi(automation sim.DRS, paths ...string) (types.ClusterPowerOnVmResult, error) {
	h.t.Helper()
	dc, err := h.find.Datacenter(h.ctx, "/DC0")
	must(h.t, err)
	refs := make([]types.ManagedObjectReference, 0, len(paths))
	for _, path := range paths {
		refs = append(refs, h.vm(path).Reference())
	}
	var options []types.BaseOptionValue
	if automation != "" {
		options = append(options, &types.OptionValue{Key: "OverrideAutomationLevel", Value: string(automation)})
	}
	task, err := dc.PowerOnVM(h.ctx, refs, options...)
	if err != nil {
		return types.ClusterPowerOnVmResult{}, err
	}
	info, err := task.WaitForResult(h.ctx, nil)
	if err != nil {
		return types.ClusterPowerOnVmResult{}, err
	}
	result, ok := info.Result.(types.ClusterPowerOnVmResult)
	if !ok {
		h.t.Fatalf("the result is %+v", info.Result)
	}
	return result, nil
}

// placed powers a VM on through the datacenter, and waits for the task. It returns the error.
func (h hand) placed(automation sim.DRS, path string) error {
	h.t.Helper()
	result, err := h.multi(automation, path)
	must(h.t, err)
	switch {
	case len(result.NotAttempted) > 0:
		return notAttempted{result.NotAttempted[0].Fault}
	case len(result.Attempted) > 0:
		return object.NewTask(h.Client(), *result.Attempted[0].Task).Wait(h.ctx)
	}
	return fmt.Errorf("%d recommendations", len(result.Recommendations))
}

type notAttempted struct{ types.LocalizedMethodFault }

func (n notAttempted) Error() string                { return n.LocalizedMessage }
func (n notAttempted) Fault() types.BaseMethodFault { return n.LocalizedMethodFault.Fault }

// hosts returns the hosts of the VMs, and the number of running VMs on each host.
func (h hand) hosts() (of map[string]string, on map[string]int) {
	h.t.Helper()
	of, on = map[string]string{}, map[string]int{}
	for _, name := range four {
		var vm mo.VirtualMachine
		must(h.t, property.DefaultCollector(h.Client()).RetrieveOne(h.ctx, h.vm(root+"/"+name).Reference(), []string{"runtime"}, &vm))
		of[name] = vm.Runtime.Host.Value
		if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
			on[vm.Runtime.Host.Value]++
		}
	}
	return of, on
}

func TestDRSChoosesTheHostOfAVMThatIsPoweredOnUnlessItIsOffOrManual(t *testing.T) {
	byVM := func(h hand, path string) error { return h.PowerOn(h.ctx, path) }
	asSet := func(h hand, path string) error { return h.placed("", path) }
	automated := func(h hand, path string) error { return h.placed(sim.DRSFullyAutomated, path) }
	for _, c := range []struct {
		mode    sim.DRS
		how     string
		powerOn func(h hand, path string) error
		// chosen is true if the VMs are spread over the two hosts; otherwise they stay on their host.
		chosen  bool
		refused string
	}{
		{sim.DRSOff, "by VM", byVM, false, ""},
		{sim.DRSOff, "through the datacenter", automated, false, ""},
		{sim.DRSManual, "by VM", byVM, false, ""},
		{sim.DRSManual, "through the datacenter", asSet, false, "1 recommendations"},
		{sim.DRSManual, "through the datacenter, automated", automated, true, ""},
		{sim.DRSPartiallyAutomated, "by VM", byVM, true, ""},
		{sim.DRSFullyAutomated, "by VM", byVM, true, ""},
		{sim.DRSFullyAutomated, "through the datacenter", asSet, true, ""},
	} {
		t.Run(strings.TrimSpace(string(c.mode)+" "+c.how), func(t *testing.T) {
			h := person(t, sim.Options{DRS: c.mode, Ordinary: four})
			before, _ := h.hosts()
			for _, name := range four {
				if err := c.powerOn(h, root+"/"+name); err != nil && err.Error() != c.refused || err == nil && c.refused != "" {
					t.Fatalf("powering %s on: %v, want %q", name, err, c.refused)
				}
			}
			after, on := h.hosts()
			if c.chosen && (len(on) != 2 || on[after["a"]] != 2) || !c.chosen && !maps.Equal(before, after) || c.refused != "" && len(on) > 0 {
				t.Errorf("VMs were on the hosts %v, and are on %v; %v are on", before, after, on)
			}
			var is mo.ClusterComputeResource
			found, err := h.find.ClusterComputeResource(h.ctx, cluster)
			must(t, err)
			must(t, property.DefaultCollector(h.Client()).RetrieveOne(h.ctx, found.Reference(), []string{"configuration.drsConfig"}, &is))
			if config := is.Configuration.DrsConfig; *config.Enabled != (c.mode != sim.DRSOff) || config.DefaultVmBehavior != types.DrsBehavior(c.mode) {
				t.Errorf("the cluster has %+v", config)
			}
		})
	}
}

func TestATaskOfDRSIsTheSystemsAndAnotherOneTheAccounts(t *testing.T) {
	for mode, description := range map[sim.DRS]string{sim.DRSOff: "Datacenter.ExecuteVmPowerOnLRO", sim.DRSFullyAutomated: "Drm.ExecuteVmPowerOnLRO"} {
		h := person(t, sim.Options{DRS: mode, Ordinary: four})
		result, err := h.multi("", root+"/a")
		must(t, err)
		if len(result.Attempted) != 1 || result.Attempted[0].Task == nil {
			t.Fatalf("%q: %+v", mode, result)
		}
		var task mo.Task
		must(t, property.DefaultCollector(h.Client()).RetrieveOne(h.ctx, *result.Attempted[0].Task, []string{"info"}, &task))
		if _, system := task.Info.Reason.(*types.TaskReasonSystem); system != (mode != sim.DRSOff) || task.Info.DescriptionId != description ||
			*task.Info.Entity != h.vm(root+"/a").Reference() {
			t.Errorf("%q: the task is %+v, by %T", mode, task.Info, task.Info.Reason)
		}
	}
}

func TestWhatCannotBePlacedIsNotAttempted(t *testing.T) {
	s, p := start(t, sim.Options{DRS: sim.DRSFullyAutomated, Ordinary: four})
	h := newHand(t, p)
	must(t, s.Admit(cluster, 2))
	must(t, h.placed("", root+"/a"))
	again := h.placed("", root+"/a")
	if refused[*types.InvalidPowerState](t, again); !errors.As(again, new(notAttempted)) {
		t.Errorf("a VM that is on is powered on by a task: %v", again)
	}
	must(t, h.PowerOn(h.ctx, root+"/b"))
	refused[*types.InsufficientFailoverResourcesFault](t, h.placed("", root+"/c"))
	refused[*types.InsufficientFailoverResourcesFault](t, h.PowerOn(h.ctx, root+"/c"))
	must(t, h.PowerOff(h.ctx, root+"/a"))
	must(t, h.placed("", root+"/c"))
	must(t, s.Admit(cluster, 9))
	must(t, h.Disable(h.ctx, root+"/d", "PowerOnVM_Task"))
	refused[*types.MethodDisabled](t, h.placed("", root+"/d"))
	must(t, h.Disable(h.ctx, root+"/d"))
	for _, host := range []string{"_H0", "_H1"} {
		must(t, h.Maintenance(h.ctx, "/DC0/host/"+cluster+"/"+cluster+host, true))
	}
	refused[*types.NoCompatibleHost](t, h.placed("", root+"/d"))
}

func TestPlacingNeedsThePrivilegeOnTheDatacenter(t *testing.T) {
	s, _ := start(t, sim.Options{NarrowRole: true})
	h := restricted(t, s)
	_, err := h.multi("", ordinary)
	if denied := refused[*types.NoPermission](t, err); denied != nil && (denied.PrivilegeId != "VirtualMachine.Interact.PowerOn" || denied.Object.Type != "Datacenter") {
		t.Errorf("denied was %+v", denied)
	}
	must(t, h.PowerOn(h.ctx, ordinary))
	s, _ = start(t, sim.Options{Privileges: without("VirtualMachine.Interact.PowerOn")})
	h = restricted(t, s)
	_, err = h.multi("", ordinary)
	refused[*types.NoPermission](t, err)
}

func TestPlacingCanHangAndNeedNotNameTheTaskThatFollows(t *testing.T) {
	released := make(chan struct{})
	h := person(t, sim.Options{
		DRS: sim.DRSFullyAutomated, Ordinary: four, NoPlacedTasks: true, HoldPlacing: func() <-chan struct{} { return released },
	})
	type answer struct {
		result types.ClusterPowerOnVmResult
		err    error
	}
	answered := make(chan answer, 1)
	go func() {
		result, err := h.multi("", root+"/a")
		answered <- answer{result, err}
	}()
	await.True(t, "it begins", func() bool { n, err := h.Running(h.ctx); return err == nil && n == 1 }, func() string { return "" })
	if _, on := h.hosts(); len(on) != 0 {
		t.Errorf("VMs run before they are placed: %v", on)
	}
	close(released)
	got := <-answered
	must(t, got.err)
	if r := got.result; len(r.Attempted) != 1 || r.Attempted[0].Task != nil {
		t.Errorf("the result is %+v", r)
	}
}
