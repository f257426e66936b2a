package plan

import (
	"bytes"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// InPlace is the change of a VM of one shape to another that is made to the VM itself. Whoever plans it, asks quotas for it or foretells it decides by this.
type InPlace struct {
	From, To v1alpha1.Revision
	// Resize as in spec.updateStrategy. Empty means Restart.
	Resize v1alpha1.ResizeMode
}

// InPlaceAs is the change of a VM of a shape to what spec says.
func InPlaceAs(spec *v1alpha1.VmGroupSpec, from v1alpha1.Revision) InPlace {
	return InPlace{From: from, To: ShapeOf(*spec), Resize: strategyOf(spec.UpdateStrategy, 0).resize}
}

// Possible is false where another VM has to come in its place: more differs than size and network, or Resize says Recreate.
func (c InPlace) Possible() bool {
	a, b := c.From, c.To
	a.CPU, a.Memory = b.CPU, b.Memory
	a.Placement = withNetwork(a.Placement, networkOf(b))
	return bytes.Equal(fields(a), fields(b)) && (c.Resize != v1alpha1.ResizeRecreate || !c.Resizes())
}

// Resizes is true where the size differs.
func (c InPlace) Resizes() bool { return c.From.CPU != c.To.CPU || c.From.Memory != c.To.Memory }

// Reconnects is true where the network differs.
func (c InPlace) Reconnects() bool { return networkOf(c.From) != networkOf(c.To) }

// Privileges are those that the account needs on a VM for the change.
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

// Way is what a change in place does to a VM.
type Way int

const (
	// WayLive says that the VM is changed as it is.
	WayLive Way = iota
	// WayRestart says that the VM has to be off for that, and is restarted.
	WayRestart
	// WayPending says that the VM has to be off for that, and waits until somebody has powered it off.
	WayPending
)

// Way of a VM, by what it says of itself; refused is true where vCenter has said that it cannot be changed while it is on.
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

// memoryMiB of a shape, which has GiB.
func memoryMiB(r v1alpha1.Revision) int64 { return int64(r.Memory) * 1024 }
