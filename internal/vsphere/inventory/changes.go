package inventory

import "github.com/codeconnect/vmgroup-operator/internal/vsphere"

// Change is what became of a VM that was known.
type Change struct {
	Kind vsphere.ChangeKind
	// Before is the VM as it was known, Now as it is; of a VM that is gone Now is the reference only.
	Before, Now vsphere.VM
}

// changed notes what is new of a VM that carries this installation's stamp. Of one that we destroy nothing is of interest any more. The lock is held.
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

// reconfigured reports whether the configuration of a VM differs in something that a person changes. vCenter moves the change version for much else: it is not
// documented for what, and snapshots, vMotion and what guests write may be among it.
func reconfigured(was, now *vsphere.VM) bool {
	return was.CPU != now.CPU || was.MemoryMiB != now.MemoryMiB || was.HotAdd != now.HotAdd || was.Devices != now.Devices ||
		was.IsTemplate != now.IsTemplate || was.InstanceUUID != now.InstanceUUID || *was.Stamp != *now.Stamp
}

// left notes that a VM is not below the root folder any more. The lock is held.
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

// watched reports whether changes of a VM are of interest: it was seen as one of ours, and nobody has decided to destroy it.
func (x *Index) watched(e *vmEntry) bool {
	return (e.state == Present || e.state == Suspect) && !e.unread && x.ours(e) && !e.leaving && !e.vm.Tombstone
}
