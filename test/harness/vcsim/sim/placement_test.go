package sim_test

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestACloneGoesWhereItsPartsReachEachOther(t *testing.T) {
	h := person(t, sim.Options{})
	path, err := h.AddCluster(h.ctx, "C2", "far", t.TempDir())
	must(t, err)
	pool, err := h.find.ResourcePool(h.ctx, path)
	must(t, err)
	far, err := h.find.Datastore(h.ctx, "/DC0/datastore/far")
	must(t, err)
	there, datastore := pool.Reference(), far.Reference()
	into := func(s *types.VirtualMachineCloneSpec) { s.Location.Pool, s.Location.Datastore = &there, &datastore }
	onNetwork := func(name string) types.BaseVirtualDeviceConfigSpec {
		network, err := h.find.Network(h.ctx, "/DC0/network/"+name)
		must(t, err)
		devices, err := h.vm(template).Device(h.ctx)
		must(t, err)
		card := devices.SelectByType((*types.VirtualEthernetCard)(nil))[0]
		card.GetVirtualDevice().Backing, err = network.EthernetCardBackingInfo(h.ctx)
		must(t, err)
		return &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: card}
	}
	refused[*types.CannotAccessFile](t, h.clone(template, root, "a", func(s *types.VirtualMachineCloneSpec) { s.Location.Pool = &there }))
	refused[*types.CannotAccessFile](t, h.clone(template, root, "a", func(s *types.VirtualMachineCloneSpec) { s.Location.Datastore = &datastore }))
	refused[*types.CannotAccessNetwork](t, h.clone(template, root, "a", func(s *types.VirtualMachineCloneSpec) {
		into(s)
		s.Location.DeviceChange = []types.BaseVirtualDeviceConfigSpec{onNetwork("DC0_DVPG0")}
	}))
	must(t, h.clone(template, root, "a", func(s *types.VirtualMachineCloneSpec) {
		into(s)
		s.Location.DeviceChange = []types.BaseVirtualDeviceConfigSpec{onNetwork("VM Network")}
	}))
	must(t, h.PowerOn(h.ctx, root+"/a"))
	host, err := h.vm(root + "/a").HostSystem(h.ctx)
	must(t, err)
	if name, err := host.ObjectName(h.ctx); err != nil || name != "C2-H0" {
		t.Errorf("the VM is on host %q, %v", name, err)
	}
}

func TestAHostInMaintenanceModeTakesNoPartInAClone(t *testing.T) {
	h := person(t, sim.Options{})
	host, err := h.vm(template).HostSystem(h.ctx)
	must(t, err)
	name, err := host.ObjectName(h.ctx)
	must(t, err)
	const cluster = "/DC0/host/DC0_C0/"
	must(t, h.Maintenance(h.ctx, cluster+name, true))
	refused[*types.InvalidHostState](t, h.clone(template, root, "a", nil))
	must(t, h.Maintenance(h.ctx, cluster+name, false))
	must(t, h.clone(template, root, "a", nil))

	path, err := h.AddCluster(h.ctx, "C2", "far", t.TempDir())
	must(t, err)
	pool, err := h.find.ResourcePool(h.ctx, path)
	must(t, err)
	there := pool.Reference()
	must(t, h.Maintenance(h.ctx, "/DC0/host/C2/C2-H0", true))
	refused[*types.NoCompatibleHost](t, h.clone(template, root, "b", func(s *types.VirtualMachineCloneSpec) { s.Location.Pool = &there }))
}
