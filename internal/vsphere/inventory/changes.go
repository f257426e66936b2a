package inventory

import "github.com/codeconnect/vmgroup-operator/internal/vsphere"

// Change is a change of a known VM.
type Change struct {
	Kind vsphere.ChangeKind
	// Before is the VM before the change, and Now the VM after it. For a deleted VM, Now has only the reference.
	Before, Now vsphere.VM
}

// changed records the changes of a VM with this installation's stamp. It ignores a VM that is being destroyed. The caller holds the lock.
func (x *Index) changed(e *vmEntry, now *vsphere.VM) {
	if !x.watched(e) || now.Tombstone || now.Stamp == nil || now.Stamp.GroupID != e.vm.Stamp.GroupID {
		return
	}
	kind := vsphere.ChangeKind("")
	switch was := &e.vm; {
	case was.Power == vsphere.PoweredOn && now.Power == vsphere.PoweredOff:
		kind = vsphere.ChangePoweredOff
	case was.Power == vsphere.PoweredOn && now.Power == vsphere.Suspended:
		kind = vsphere.ChangeSuspended
	case was.Name != now.Name:
		kind = vsphere.ChangeRenamed
	case was.Folder != now.Folder:
		kind = vsphere.ChangeMoved
	case was.ChangeVersion != "" && now.ChangeVersion != "" && was.ChangeVersion != now.ChangeVersion && was.Power == now.Power && reconfigured(was, now):
		kind = vsphere.ChangeReconfigured
	default:
		return
	}
	x.changes = append(x.changes, Change{Kind: kind, Before: clone(e.vm), Now: clone(*now)})
}

// reconfigured reports whether a VM's configuration differs in a value that users change. vCenter also increments the change version for other, undocumented
// reasons. Snapshots, vMotion and guests' writes can be among them.
func reconfigured(was, now *vsphere.VM) bool {
	return was.CPU != now.CPU || was.MemoryMiB != now.MemoryMiB || was.HotAdd != now.HotAdd || was.Devices != now.Devices ||
		was.IsTemplate != now.IsTemplate || was.InstanceUUID != now.InstanceUUID || *was.Stamp != *now.Stamp
}

// left records that a VM is no longer below the root folder. The caller holds the lock.
func (x *Index) left(e *vmEntry, verdict State, seen *Seen) {
	if e.state == verdict || !x.watched(e) {
		return
	}
	c := Change{Kind: vsphere.ChangeDeleted, Before: clone(e.vm), Now: vsphere.VM{Ref: e.vm.Ref}}
	if verdict == Elsewhere {
		c.Kind = vsphere.ChangeMoved
	}
	if seen != nil {
		c.Now = clone(seen.VM)
	}
	x.changes = append(x.changes, c)
}

// watched reports whether changes of a VM matter: it was seen with our stamp, and it is not being destroyed.
func (x *Index) watched(e *vmEntry) bool {
	return (e.state == Present || e.state == Suspect) && !e.unread && x.ours(e) && !e.leaving && !e.vm.Tombstone
}
