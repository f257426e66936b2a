package sim

import (
	"fmt"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// DRS is the automation level of a cluster's DRS, or off.
type DRS string

// Automation levels. For power-on, partially and fully automated are the same.
const (
	DRSOff                DRS = ""
	DRSManual                 = DRS(types.DrsBehaviorManual)
	DRSPartiallyAutomated     = DRS(types.DrsBehaviorPartiallyAutomated)
	DRSFullyAutomated         = DRS(types.DrsBehaviorFullyAutomated)
)

// places reports whether DRS chooses the host of a VM at power-on.
func (d DRS) places() bool { return d == DRSPartiallyAutomated || d == DRSFullyAutomated }

// spot is the location of a running VM.
type spot struct{ host, cluster types.ManagedObjectReference }

// drs implements power-on in clusters.
type drs struct {
	mo.ManagedEntity
	// hold is Options.HoldPlacing, and unnamed is Options.NoPlacedTasks.
	hold    func() (until <-chan struct{})
	unnamed bool

	mu    sync.Mutex
	modes map[types.ManagedObjectReference]DRS
	// room is the number of VMs that admission control allows to run in a cluster.
	room map[types.ManagedObjectReference]int
	// running are the VMs that are powered on or being powered on.
	running map[types.ManagedObjectReference]spot
}

// SetDRS sets the automation level of a cluster. In new clusters DRS is off.
func (s *Simulator) SetDRS(cluster string, mode DRS) error {
	c, err := s.cluster(cluster)
	if err != nil {
		return err
	}
	ctx := &simulator.Context{Map: s.model.Map()}
	ctx.WithLock(c, func() {
		on := mode != DRSOff
		config := types.ClusterDrsConfigInfo{Enabled: &on, DefaultVmBehavior: types.DrsBehavior(mode)}
		if ex, ok := c.ConfigurationEx.(*types.ClusterConfigInfoEx); ok {
			ex.DrsConfig = config
		}
		ctx.Update(c, []types.PropertyChange{{Name: "configuration.drsConfig", Val: config}})
	})
	d := &s.rules.drs
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.modes == nil {
		d.modes = map[types.ManagedObjectReference]DRS{}
	}
	d.modes[c.Self] = mode
	return nil
}

// Admit sets the number of VMs that vSphere HA admission control allows to run in a cluster.
func (s *Simulator) Admit(cluster string, vms int) error {
	c, err := s.cluster(cluster)
	if err != nil {
		return err
	}
	d := &s.rules.drs
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.room == nil {
		d.room = map[types.ManagedObjectReference]int{}
	}
	d.room[c.Self] = vms
	return nil
}

func (s *Simulator) cluster(name string) (*simulator.ClusterComputeResource, error) {
	for _, e := range s.model.Map().All("ClusterComputeResource") {
		if c, ok := e.(*simulator.ClusterComputeResource); ok && c.Name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("there is no cluster %q", name)
}

func (d *drs) mode(cluster types.ManagedObjectReference) DRS {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.modes[cluster]
}

// Reference of the handler.
func (*drs) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "DRS", Value: "drs"}
}

// PutObject does nothing, because a new VM is powered off.
func (*drs) PutObject(*simulator.Context, mo.Reference) {}

// RemoveObject forgets a VM.
func (d *drs) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) { d.leave(ref) }

// UpdateObject records which VMs are powered on. The caller holds the VM.
func (d *drs) UpdateObject(ctx *simulator.Context, o mo.Reference, changes []types.PropertyChange) {
	for _, c := range changes {
		if c.Name != "runtime.powerState" || o.Reference().Type != "VirtualMachine" {
			continue
		}
		if vm, ok := ctx.Map.Get(o.Reference()).(*simulator.VirtualMachine); ok && c.Val == types.VirtualMachinePowerStatePoweredOn {
			d.enter(vm.Self, *vm.Runtime.Host, clusterOf(ctx, vm))
		} else {
			d.leave(o.Reference())
		}
	}
}

func (d *drs) enter(vm, host types.ManagedObjectReference, cluster *simulator.ClusterComputeResource) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running == nil {
		d.running = map[types.ManagedObjectReference]spot{}
	}
	at := spot{host: host}
	if cluster != nil {
		at.cluster = cluster.Self
	}
	d.running[vm] = at
}

func (d *drs) leave(vm types.ManagedObjectReference) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.running, vm)
}

// clusterOf returns the cluster of a VM, or nil. The caller holds the VM.
func clusterOf(ctx *simulator.Context, vm *simulator.VirtualMachine) *simulator.ClusterComputeResource {
	if vm.ResourcePool == nil {
		return nil
	}
	pool, ok := ctx.Map.Get(*vm.ResourcePool).(*simulator.ResourcePool)
	if !ok {
		return nil
	}
	cluster, _ := ctx.Map.Get(pool.Owner).(*simulator.ClusterComputeResource)
	return cluster
}

// admit refuses a VM that admission control does not allow to run.
func (d *drs) admit(vm *simulator.VirtualMachine, cluster *simulator.ClusterComputeResource) types.BaseMethodFault {
	if cluster == nil || vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	room, bounded := d.room[cluster.Self]
	for other, at := range d.running {
		if other != vm.Self && at.cluster == cluster.Self {
			room--
		}
	}
	if bounded && room < 1 {
		return &types.InsufficientFailoverResourcesFault{}
	}
	return nil
}

// place moves a powered-off VM to the usable host of its cluster with the fewest running VMs. The caller holds the VM.
func (d *drs) place(ctx *simulator.Context, vm *simulator.VirtualMachine, cluster *simulator.ClusterComputeResource) types.BaseMethodFault {
	from := *vm.Runtime.Host
	to, least := types.ManagedObjectReference{}, 0
	d.mu.Lock()
	for _, host := range cluster.Host {
		n := 0
		for other, at := range d.running {
			if other != vm.Self && at.host == host {
				n++
			}
		}
		if runs(ctx, host) && (to.Value == "" || n < least || n == least && host == from) {
			to, least = host, n
		}
	}
	d.mu.Unlock()
	if to.Value == "" {
		return &types.NoCompatibleHost{Host: cluster.Host}
	}
	d.enter(vm.Self, to, cluster)
	if to == from {
		return nil
	}
	if old, ok := ctx.Map.Get(from).(*simulator.HostSystem); ok {
		ctx.Map.RemoveReference(ctx, old, &old.Vm, vm.Self)
	}
	if host, ok := ctx.Map.Get(to).(*simulator.HostSystem); ok {
		ctx.Map.AppendReference(ctx, host, &host.Vm, vm.Self)
	}
	ctx.Update(vm, []types.PropertyChange{{Name: "runtime.host", Val: &to}, {Name: "summary.runtime.host", Val: &to}})
	return nil
}

// run powers on a VM. Unless it was placed before, an automated DRS places it. With manual DRS it stays on its host. The caller holds the VM.
func (d *drs) run(ctx *simulator.Context, vm *simulator.VirtualMachine, placed bool, powerOn func() (types.AnyType, types.BaseMethodFault)) (types.AnyType, types.BaseMethodFault) {
	cluster := clusterOf(ctx, vm)
	if fault := d.admit(vm, cluster); fault != nil {
		d.leave(vm.Self)
		return nil, fault
	}
	off := vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn
	if off && !placed && cluster != nil && d.mode(cluster.Self).places() {
		if fault := d.place(ctx, vm, cluster); fault != nil {
			return nil, fault
		}
	}
	res, fault := powerOn()
	if fault != nil && off {
		d.leave(vm.Self)
	}
	return res, fault
}
