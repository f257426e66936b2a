package sim_test

import (
	"slices"
	"testing"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestAnAccountWithoutARoleOnASwitchDoesNotSeeIt(t *testing.T) {
	for _, shown := range []bool{false, true} {
		s, p := start(t, sim.Options{ShowHiddenReferences: shown})
		admin, h := newHand(t, p), restricted(t, s)
		dvs, err := admin.find.Network(h.ctx, "/DC0/network/DVS0")
		must(t, err)
		group, err := admin.find.Network(h.ctx, "/DC0/network/DC0_DVPG0")
		must(t, err)
		switches := func(h hand) (seen []types.ManagedObjectReference) {
			v, err := view.NewManager(h.Client()).CreateContainerView(h.ctx, h.Client().ServiceContent.RootFolder, []string{"DistributedVirtualSwitch"}, true)
			must(t, err)
			for _, o := range h.properties(types.PropertyFilterSpec{
				ObjectSet: []types.ObjectSpec{{Obj: v.Reference(), Skip: types.NewBool(true), SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ContainerView", Path: "view"}}}},
				PropSet:   []types.PropertySpec{{Type: "DistributedVirtualSwitch", PathSet: []string{"name"}}},
			}) {
				seen = append(seen, o.Obj)
			}
			return seen
		}
		read := func(h hand, of types.ManagedObjectReference, name string) types.ObjectContent {
			return h.properties(types.PropertyFilterSpec{
				ObjectSet: []types.ObjectSpec{{Obj: of}}, PropSet: []types.PropertySpec{{Type: of.Type, PathSet: []string{name}}},
			})[0]
		}
		if !slices.Contains(switches(h), dvs.Reference()) || len(read(h, dvs.Reference(), "uuid").PropSet) != 1 {
			t.Error("a switch is hidden from the start")
		}
		s.Hide(dvs.Reference())
		if slices.Contains(switches(h), dvs.Reference()) || !slices.Contains(switches(admin), dvs.Reference()) {
			t.Errorf("the account sees %v, and a person %v", switches(h), switches(admin))
		}
		if o := read(h, dvs.Reference(), "uuid"); len(o.PropSet) != 0 || len(o.MissingSet) != 1 || o.MissingSet[0].Fault.Fault.(*types.NoPermission).PrivilegeId != "System.Read" {
			t.Errorf("of the switch the account reads %+v", o)
		}
		const reference = "config.distributedVirtualSwitch"
		if o := read(h, group.Reference(), reference); (len(o.PropSet) == 1) != shown {
			t.Errorf("the port group says to the account that its switch is %+v", o.PropSet)
		}
		s.Show()
		if !slices.Contains(switches(h), dvs.Reference()) || len(read(h, group.Reference(), reference).PropSet) != 1 {
			t.Error("the switch stays hidden")
		}
	}
}

// properties reads properties with the call that the operator uses.
func (h hand) properties(spec types.PropertyFilterSpec) []types.ObjectContent {
	h.t.Helper()
	res, err := methods.RetrievePropertiesEx(h.ctx, h.Client(), &types.RetrievePropertiesEx{
		This: property.DefaultCollector(h.Client()).Reference(), SpecSet: []types.PropertyFilterSpec{spec},
	})
	must(h.t, err)
	if res.Returnval == nil {
		return nil
	}
	return res.Returnval.Objects
}
