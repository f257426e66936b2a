package plan

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// WantedDisks returns the data disks that a shape asks for, sorted by name.
func WantedDisks(shape v1alpha1.VMShape) (disks []vsphere.DataDisk) {
	for _, d := range shape.DataDisks() {
		disks = append(disks, vsphere.DataDisk{Name: d.Name, SizeGiB: d.SizeGiB, Provisioning: vsphere.Provisioning(d.Provisioning)})
	}
	return disks
}

// dataDisks returns the data disks that the change adds or grows. What is wrong with another one does not prevent that.
func (c InPlace) dataDisks() (disks []vsphere.DataDisk) {
	before := c.From.DataDisks()
	for _, d := range WantedDisks(c.To.VMShape) {
		at := slices.IndexFunc(before, func(was v1alpha1.DataDisk) bool { return was.Name == d.Name })
		if d.Had = at >= 0; !d.Had || before[at].SizeGiB < d.SizeGiB {
			disks = append(disks, d)
		}
	}
	return disks
}

// DataDisksOf returns the data disks that the operator created for a VM, sorted by name. known is false if the list in the VM's configuration is malformed.
func DataDisksOf(vm *vsphere.VM) (disks []v1alpha1.VMDisk, known bool) {
	attached, known := vm.DataDisks.Attached()
	for _, d := range attached {
		disk := v1alpha1.VMDisk{Name: d.Name, SizeGiB: d.SizeGiB}
		if vsphere.IsUUID(d.UUID) {
			disk.UUID = d.UUID
		}
		disks = append(disks, disk)
	}
	return disks, known
}

// identify records the UUIDs of data disks that were created since: vCenter assigns them. A VM that gets another action, such as its start, gets them later. A failure
// blocks nothing.
func (p *planner) identify() {
	if p.in.Deleting {
		return
	}
	for _, m := range p.table() {
		if m.doomed || m.state != present || !m.vm.Connected() || m.vm.IsTemplate || !m.vm.DataDisks.Unidentified() {
			continue
		}
		if m.vm.Disabled != "" {
			continue // a backup, for example
		}
		if slices.ContainsFunc(p.actions, func(a Action) bool { return a.Ordinal == m.status.Ordinal }) {
			continue
		}
		if f := p.ops.failure(m.status.Ordinal, vsphere.OpIdentify); f != nil {
			p.blockers.addRemark(f)
			if f.waits(p.in.Now, m.vm) {
				p.wake(f.RetryAt)
				continue
			}
		}
		if len(p.ops.inFlight[m.status.Ordinal]) == 0 {
			p.actions = append(p.actions, Action{
				Kind: ReconfigureVM, Ordinal: m.status.Ordinal, Name: m.status.Name, MoRef: m.vm.Ref.Value, ChangeVersion: m.vm.ChangeVersion, Cause: ForUpdate,
				Identify: true, Reason: "the UUIDs of its data disks are not recorded yet",
			})
		}
	}
}
