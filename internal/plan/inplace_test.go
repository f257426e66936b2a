package plan

import (
	"slices"
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
	paired := hot
	paired.HotAdd.CoresPerSocket = 2
	sockets := func(s *v1alpha1.VmGroupSpec) { s.CoresPerSocket = 2 }
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
		"other sockets":                     {sockets, "", hot, false, WayRestart},
		"other sockets, and no restarts":    {sockets, v1alpha1.ResizeHot, hot, false, WayPending},
		"the sockets that it has":           {sockets, v1alpha1.ResizeHot, paired, false, WayLive},
		"more CPUs than fit into sockets":   {func(s *v1alpha1.VmGroupSpec) { s.CPU = 3 }, "", paired, false, WayRestart},
		"less":                              {func(s *v1alpha1.VmGroupSpec) { s.CPU = 1 }, "", hot, false, WayRestart},
		"a network":                         {moved, v1alpha1.ResizeRecreate, on, true, WayLive},
		"a network and a size":              {func(s *v1alpha1.VmGroupSpec) { larger(s); moved(s) }, "", on, false, WayRestart},
		"a data disk":                       {func(s *v1alpha1.VmGroupSpec) { s.Disks = disksOf(0, v1alpha1.DataDisk{Name: "a", SizeGiB: 1}) }, v1alpha1.ResizeRecreate, on, false, WayLive},
		"a data disk, refused while on":     {func(s *v1alpha1.VmGroupSpec) { s.Disks = disksOf(0, v1alpha1.DataDisk{Name: "a", SizeGiB: 1}) }, "", on, true, WayRestart},
		"a datastore":                       {func(s *v1alpha1.VmGroupSpec) { s.Placement = &v1alpha1.Placement{Datastore: "ssd"} }, "", off, false, replaced},
		"a template, and the VM could grow": {func(s *v1alpha1.VmGroupSpec) { larger(s); s.Template = "other" }, "", hot, false, replaced},
	} {
		from, spec := ShapeOf(validSpec(1)), validSpec(1)
		c.edit(&spec)
		spec.UpdateStrategy = &v1alpha1.UpdateStrategy{Resize: c.resize}
		got, change := replaced, InPlaceAs(&spec, from, 1, false)
		if change.Possible() {
			got = change.Way(&c.vm, c.refused)
		}
		if got != c.want {
			t.Errorf("%s: %d, want %d", story, got, c.want)
		}
	}
}

// The network of the template is unknown. An update to it never ended.
func TestAVMKeepsItsNetworkIfNoneIsNamed(t *testing.T) {
	for story, c := range map[string]struct {
		from, to string
		keeps    bool
		want     bool
	}{
		"a network":                        {"", "blue", true, true},
		"another":                          {"blue", "green", true, true},
		"none, and the VCenter names one":  {"blue", "", false, true},
		"none, and the VCenter names none": {"blue", "", true, false},
	} {
		from, spec := validSpec(1), validSpec(1)
		from.Placement, spec.Placement = &v1alpha1.Placement{Network: c.from}, &v1alpha1.Placement{Network: c.to}
		change := InPlaceAs(&spec, ShapeOf(from), 1, c.keeps)
		if change.Reconnects() != c.want || slices.Contains(change.Privileges(&vsphere.VM{}), vsphere.PrivilegeDevices) != c.want || !change.Possible() {
			t.Errorf("%s: connects %t, needs %v", story, change.Reconnects(), change.Privileges(&vsphere.VM{}))
		}
	}
}

func TestSocketsThatAVMGets(t *testing.T) {
	on := vsphere.VM{Power: vsphere.PoweredOn, CPU: 4, MemoryMiB: 4096, HotAdd: vsphere.HotAdd{CPU: true, CoresPerSocket: 2}}
	off := on
	off.Power = vsphere.PoweredOff
	cold := on
	cold.HotAdd.CPU = false
	for story, c := range map[string]struct {
		fromCPU, from, toCPU, to int32
		vm                       vsphere.VM
		template, want           int32
		way                      Way
	}{
		"nothing changes":                                      {4, 0, 4, 0, on, 1, 0, WayLive},
		"what it has":                                          {4, 0, 4, 2, on, 1, 0, WayLive},
		"what it shows while it is off":                        {4, 0, 4, 2, off, 1, 2, WayLive},
		"others":                                               {4, 0, 4, 4, on, 1, 4, WayRestart},
		"those of the template again":                          {4, 2, 4, 0, on, 1, 1, WayRestart},
		"those of the template, which it has":                  {4, 2, 4, 0, on, 2, 0, WayLive},
		"those of an unknown template":                         {4, 2, 4, 0, on, 0, 0, WayLive},
		"more CPUs while it runs":                              {4, 0, 6, 0, on, 1, 0, WayLive},
		"more CPUs, and it must be off":                        {4, 0, 6, 0, cold, 4, 3, WayRestart},
		"CPUs that do not fit":                                 {4, 0, 5, 0, on, 2, 1, WayRestart},
		"what it has, and a person gave it more CPUs":          {2, 0, 2, 2, on, 1, 0, WayLive},
		"nothing changes, and a person gave it more CPUs":      {2, 0, 2, 0, on, 1, 0, WayLive},
		"nothing changes, and a person gave it others":         {4, 4, 4, 4, on, 1, 0, WayLive},
		"nothing changes, and it is off and loses CPUs":        {3, 0, 3, 0, off, 1, 1, WayLive},
		"no wanted ones any more, after a person gave it CPUs": {2, 2, 2, 0, on, 2, 0, WayLive},
	} {
		from, to := ShapeOf(validSpec(1)), ShapeOf(validSpec(1))
		from.CPU, from.CoresPerSocket, to.CPU, to.CoresPerSocket = c.fromCPU, c.from, c.toCPU, c.to
		change := InPlace{From: from, To: to, TemplateCores: c.template}
		if got, way := change.Cores(&c.vm), change.Way(&c.vm, false); got != c.want || way != c.way {
			t.Errorf("%s: %d cores per socket and way %d, want %d and %d", story, got, way, c.want, c.way)
		}
	}
}

// Sockets are the CPUs' setting in vCenter, and need their privilege.
func TestWhatAnAccountNeedsToChangeASize(t *testing.T) {
	paired := vsphere.VM{Power: vsphere.PoweredOn, CPU: 2, HotAdd: vsphere.HotAdd{CoresPerSocket: 2}}
	for story, c := range map[string]struct {
		edit func(*v1alpha1.VmGroupSpec)
		want []string
	}{
		"the revision":        {func(*v1alpha1.VmGroupSpec) {}, nil},
		"CPUs":                {func(s *v1alpha1.VmGroupSpec) { s.CPU++ }, []string{vsphere.PrivilegeCPUs}},
		"other sockets":       {func(s *v1alpha1.VmGroupSpec) { s.CoresPerSocket = 1 }, []string{vsphere.PrivilegeCPUs}},
		"sockets that it has": {func(s *v1alpha1.VmGroupSpec) { s.CoresPerSocket = 2 }, nil},
		"memory":              {func(s *v1alpha1.VmGroupSpec) { s.Memory++ }, []string{vsphere.PrivilegeMemory}},
		"CPUs and a root disk": {func(s *v1alpha1.VmGroupSpec) {
			s.CPU++
			s.Disks = &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: 40}}
		}, []string{vsphere.PrivilegeCPUs, vsphere.PrivilegeDisks}},
	} {
		to := validSpec(1)
		c.edit(&to)
		change := InPlaceAs(&to, ShapeOf(validSpec(1)), 2, true)
		if got := change.Privileges(&paired); !slices.Equal(got, append([]string{vsphere.PrivilegeExtraConfig}, c.want...)) {
			t.Errorf("%s: it needs %v", story, got)
		}
	}
}
