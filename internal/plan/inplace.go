package plan

import (
	"bytes"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// InPlace is a change of a VM from one shape to another without a replacement. Plans, quota requests and previews all use it.
type InPlace struct {
	From, To v1alpha1.Revision
	// Resize is as in spec.updateStrategy. Empty means Restart.
	Resize v1alpha1.ResizeMode
}

// InPlaceAs returns the change of a VM from a shape to the shape of spec.
func InPlaceAs(spec *v1alpha1.VmGroupSpec, from v1alpha1.Revision) InPlace {
	return InPlace{From: from, To: ShapeOf(*spec), Resize: strategyOf(spec.UpdateStrategy, 0).resize}
}

// Possible is false if another VM must replace the VM: more than size and network differs, or Resize is Recreate.
func (c InPlace) Possible() bool {
	a, b := c.From, c.To
	a.CPU, a.Memory = b.CPU, b.Memory
	a.Placement = withNetwork(a.Placement, networkOf(b))
	return bytes.Equal(fields(a), fields(b)) && (c.Resize != v1alpha1.ResizeRecreate || !c.Resizes())
}

// Resizes is true if the size differs.
func (c InPlace) Resizes() bool { return c.From.CPU != c.To.CPU || c.From.Memory != c.To.Memory }

// Reconnects is true if the network differs.
func (c InPlace) Reconnects() bool { return networkOf(c.From) != networkOf(c.To) }

// Privileges returns the privileges that the account needs on a VM for the change.
func (c InPlace) Privileges() []string {
	needed := []string{vsphere.PrivilegeExtraConfig} // for the revision
	if c.From.CPU != c.To.CPU {
		needed = append(needed, vsphere.PrivilegeCPUs)
	}
	if c.From.Memory != c.To.Memory {
		needed = append(needed, vsphere.PrivilegeMemory)
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

// Way returns how the change affects a VM, by its hot-add settings. refused is true if vCenter has refused to change it while it is on.
func (c InPlace) Way(vm *vsphere.VM, refused bool) Way {
	can, _ := vsphere.CanHotAdd(*vm, c.To.CPU, memoryMiB(c.To))
	switch {
	case vm.Power == vsphere.PoweredOff || !c.Resizes() || can && !refused:
		return WayLive
	case c.Resize == v1alpha1.ResizeHot:
		return WayPending
	}
	return WayRestart
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
