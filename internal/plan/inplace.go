package plan

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// InPlace is a change of a VM from one shape to another without a replacement. Plans, quota requests and previews all use it.
type InPlace struct {
	From, To v1alpha1.Revision
	// Resize is as in spec.updateStrategy. Empty means Restart.
	Resize v1alpha1.ResizeMode
	// TemplateCores are the cores per socket of the template. Zero means that they are unknown.
	TemplateCores int32
	// KeepsNetwork is true if a VM keeps its network unless To names one: see Input.
	KeepsNetwork bool
}

// InPlaceAs returns the change of a VM from a shape to the shape of spec. templateCores and keepsNetwork are as in Input.
func InPlaceAs(spec *v1alpha1.VmGroupSpec, from v1alpha1.Revision, templateCores int32, keepsNetwork bool) InPlace {
	return InPlace{From: from, To: ShapeOf(*spec), Resize: strategyOf(spec.UpdateStrategy, 0).resize, TemplateCores: templateCores, KeepsNetwork: keepsNetwork}
}

// Possible is false if another VM must replace the VM: more than size, disks and network differs, or the size differs and Resize is Recreate.
func (c InPlace) Possible() bool {
	a, b := c.From, c.To
	a.CPU, a.CoresPerSocket, a.Memory, a.Disks = b.CPU, b.CoresPerSocket, b.Memory, b.Disks
	a.Placement = withNetwork(a.Placement, networkOf(b))
	return bytes.Equal(fields(a), fields(b)) && (c.Resize != v1alpha1.ResizeRecreate || !c.Resizes())
}

// Resizes is true if the size differs, or the wanted cores per socket.
func (c InPlace) Resizes() bool {
	return c.From.CPU != c.To.CPU || c.From.Memory != c.To.Memory || c.From.CoresPerSocket != c.To.CoresPerSocket
}

// Cores returns the cores per socket that the VM must get, or zero if it keeps its own. Without a wanted number, a VM has as many as a clone, except if more CPUs can be added while
// it runs. A VM that is not off keeps what a person gave it, if spec changes neither CPUs nor sockets.
func (c InPlace) Cores(vm *vsphere.VM) int32 {
	own, wanted := vm.HotAdd.CoresPerSocket, c.To.CoresPerSocket
	if vm.Power != vsphere.PoweredOff && c.From.CPU == c.To.CPU && c.From.CoresPerSocket == wanted {
		return 0
	}
	if wanted == 0 {
		if vm.CPU == c.To.CPU && c.From.CoresPerSocket == 0 {
			return 0
		}
		if can, _ := vsphere.CanHotAdd(*vm, c.To.CPU, 0, memoryMiB(c.To)); can && c.From.CoresPerSocket == 0 && vm.Power == vsphere.PoweredOn {
			return 0
		}
		wanted = vsphere.FittingCores(c.To.CPU, cmp.Or(c.TemplateCores, own))
	}
	// While the VM is off, its value can be one that vCenter chooses anew at each start.
	if chosen := vm.Power == vsphere.PoweredOff && c.From.CoresPerSocket != c.To.CoresPerSocket; wanted == own && !chosen {
		return 0
	}
	return wanted
}

// sizes is true if the VM itself must get another size.
func (c InPlace) sizes(vm *vsphere.VM) bool {
	return c.From.CPU != c.To.CPU || c.From.Memory != c.To.Memory || c.Cores(vm) != 0
}

// GrowsRoot is true if the root disk must become larger. A VM keeps a larger disk than the wanted one, because vCenter cannot shrink disks.
func (c InPlace) GrowsRoot() bool { return c.To.RootDiskGiB() > c.From.RootDiskGiB() }

// Grows is true if the root disk or a data disk must become larger.
func (c InPlace) Grows() bool {
	return c.GrowsRoot() || c.anyData(func(was, now int32) bool { return was > 0 && was < now })
}

// Adds is true if the VM must get another data disk. A data disk that is not wanted any more stays.
func (c InPlace) Adds() bool { return c.anyData(func(was, _ int32) bool { return was == 0 }) }

// anyData reports whether a wanted data disk meets a condition on its sizes in GiB. was is zero for a new disk.
func (c InPlace) anyData(meets func(was, now int32) bool) bool {
	before := c.From.DataDisks()
	return slices.ContainsFunc(c.To.DataDisks(), func(now v1alpha1.DataDisk) bool {
		at := slices.IndexFunc(before, func(was v1alpha1.DataDisk) bool { return was.Name == now.Name })
		if at < 0 {
			return meets(0, now.SizeGiB)
		}
		return meets(before[at].SizeGiB, now.SizeGiB)
	})
}

// ChangesDisks is true if a disk must become larger or be added. vCenter can require that the VM is off for it.
func (c InPlace) ChangesDisks() bool { return c.Grows() || c.Adds() }

// Reconnects is true if the VM must get another network.
func (c InPlace) Reconnects() bool {
	network := networkOf(c.To)
	return networkOf(c.From) != network && (network != "" || !c.KeepsNetwork)
}

// Privileges returns the privileges that the account needs on the VM for the change.
func (c InPlace) Privileges(vm *vsphere.VM) []string {
	needed := []string{vsphere.PrivilegeExtraConfig} // for the revision
	if c.From.CPU != c.To.CPU || c.Cores(vm) != 0 {
		needed = append(needed, vsphere.PrivilegeCPUs)
	}
	if c.From.Memory != c.To.Memory {
		needed = append(needed, vsphere.PrivilegeMemory)
	}
	if c.Grows() || c.Adds() && vm.DataDisks.Growing(c.dataDisks()) != nil { // a VM can still have a disk that is added again
		needed = append(needed, vsphere.PrivilegeDisks)
	}
	if c.Reconnects() {
		needed = append(needed, vsphere.PrivilegeDevices)
	}
	return needed
}

// Way is how a change in place affects a VM.
type Way int

const (
	// WayLive changes the VM in its current power state.
	WayLive Way = iota
	// WayRestart restarts the VM, because the VM must be off for the change.
	WayRestart
	// WayPending waits until a person powers the VM off, because the VM must be off for the change.
	WayPending
)

// Way returns how the change affects a VM, by its hot-add settings. refused is true if vCenter has refused to change it while it is on: its disks can be on a
// controller that does not allow it.
func (c InPlace) Way(vm *vsphere.VM, refused bool) Way {
	sizes := c.sizes(vm)
	can := !sizes
	if sizes {
		can, _ = vsphere.CanHotAdd(*vm, c.To.CPU, c.Cores(vm), memoryMiB(c.To))
	}
	switch {
	case vm.Power == vsphere.PoweredOff || !sizes && !c.ChangesDisks() || can && !refused:
		return WayLive
	case neverRestarts(c.Resize):
		return WayPending
	}
	return WayRestart
}

// neverRestarts is true if no VM is restarted to be changed. With Recreate, another size replaces a VM, but a larger disk does not.
func neverRestarts(mode v1alpha1.ResizeMode) bool {
	return mode == v1alpha1.ResizeHot || mode == v1alpha1.ResizeRecreate
}

func withNetwork(p *v1alpha1.Placement, network string) *v1alpha1.Placement {
	out := v1alpha1.Placement{}
	if p != nil {
		out = *p
	}
	out.Network = network
	return &out
}

func networkOf(r v1alpha1.Revision) string {
	if r.Placement == nil {
		return ""
	}
	return r.Placement.Network
}

// memoryMiB converts the memory of a shape from GiB.
func memoryMiB(r v1alpha1.Revision) int64 { return int64(r.Memory) * 1024 }
