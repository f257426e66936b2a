package sim_test

import (
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestAVMIsFoundByItsInstanceUUIDAlsoWhenItIsRegisteredAgain(t *testing.T) {
	h := person(t, sim.Options{})
	before := h.vm(ordinary)
	must(t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "k", Value: "v"}}}))
	var files mo.VirtualMachine
	must(t, before.Properties(h.ctx, before.Reference(), []string{"config.instanceUuid"}, &files))
	must(t, h.CreateFolders(h.ctx, "/DC0/vm/discovered"))
	ref, err := h.Reregister(h.ctx, ordinary, "/DC0/vm/discovered")
	must(t, err)
	byInstance := true
	found, err := object.NewSearchIndex(h.Client()).FindAllByUuid(h.ctx, nil, files.Config.InstanceUuid, true, &byInstance)
	must(t, err)
	if len(found) != 1 || found[0].Reference() != ref || ref == before.Reference() {
		t.Errorf("found %v, want only %s, which was %s before", found, ref.Value, before.Reference().Value)
	}
	_, err = object.NewSearchIndex(h.Client()).FindAllByUuid(h.ctx, nil, files.Config.InstanceUuid, true, nil)
	refused[*types.NotSupported](t, err)
}
