package plan

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestWhatCanBeChangedOfAVM(t *testing.T) {
	const replaced = Way(-1)
	on, off := vsphere.VM{Power: vsphere.PoweredOn, CPU: 2, MemoryMiB: 4096}, vsphere.VM{Power: vsphere.PoweredOff, CPU: 2, MemoryMiB: 4096}
	hot := on
	hot.HotAdd.CPU = true
	larger := func(s *v1alpha1.VmGroupSpec) { s.CPU = 4 }
	moved := func(s *v1alpha1.VmGroupSpec) { s.Placement = &v1alpha1.Placement{Network: "dmz"} }
	for story, c := range map[string]struct {
		edit    func(*v1alpha1.VmGroupSpec)
		resize  v1alpha1.ResizeMode
		vm      vsphere.VM
		refused bool
		want    Way
	}{
		"a size":                            {larger, "", on, false, WayRestart},
		"a size, and the VM can grow":       {larger, "", hot, false, WayLive},
		"a size that vCenter refused":       {larger, v1alpha1.ResizeRestart, hot, true, WayRestart},
		"a size of a VM that is off":        {larger, v1alpha1.ResizeHot, off, true, WayLive},
		"a size, and no restarts":           {larger, v1alpha1.ResizeHot, on, false, WayPending},
		"a size that replaces":              {larger, v1alpha1.ResizeRecreate, hot, false, replaced},
		"less":                              {func(s *v1alpha1.VmGroupSpec) { s.CPU = 1 }, "", hot, false, WayRestart},
		"a network":                         {moved, v1alpha1.ResizeRecreate, on, true, WayLive},
		"a network and a size":              {func(s *v1alpha1.VmGroupSpec) { larger(s); moved(s) }, "", on, false, WayRestart},
		"a datastore":                       {func(s *v1alpha1.VmGroupSpec) { s.Placement = &v1alpha1.Placement{Datastore: "ssd"} }, "", off, false, replaced},
		"a template, and the VM could grow": {func(s *v1alpha1.VmGroupSpec) { larger(s); s.Template = "other" }, "", hot, false, replaced},
	} {
		from, spec := ShapeOf(validSpec(1)), validSpec(1)
		c.edit(&spec)
		spec.UpdateStrategy = &v1alpha1.UpdateStrategy{Resize: c.resize}
		got, change := replaced, InPlaceAs(&spec, from)
		if change.Possible() {
			got = change.Way(&c.vm, c.refused)
		}
		if got != c.want {
			t.Errorf("%s: %d, want %d", story, got, c.want)
		}
	}
}
