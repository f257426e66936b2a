package model

import (
	"cmp"
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// observe returns the operator's view of a group: the VMs with its stamp, those in its folder, and those that it knows.
func (v *vcenter) observe(uid, folder string, known []string) vsphere.Observation {
	o := vsphere.Observation{InstanceUUID: vcenterUUID, Complete: true, Lacks: v.lacks}
	switch {
	case v.away:
		o.Complete, o.Incomplete = false, "vCenter is not reachable"
	case v.partial:
		o.Complete, o.Incomplete = false, "the inventory is being read"
	case v.inherits():
		o.Complete, o.Incomplete = false, "a clone that another process started is running"
	}
	for _, m := range v.vms {
		v.observeVM(m, uid, folder, slices.Contains(known, m.ref), &o)
	}
	byRef := func(a, b vsphere.VM) int { return cmp.Compare(a.Ref.Value, b.Ref.Value) }
	slices.SortFunc(o.VMs, byRef)
	slices.SortFunc(o.Released, byRef)
	for _, ref := range known {
		if at, gone := v.removed[ref]; gone && !v.away && !v.world.now.Before(at.Add(confirmAfter)) {
			o.Gone = append(o.Gone, vsphere.VMRef(ref))
		}
	}
	if uid == groupUID {
		v.observeGroup(folder, &o)
	}
	return o
}

// observeVM adds the observation of one VM.
func (v *vcenter) observeVM(m *machine, uid, folder string, known bool, o *vsphere.Observation) {
	stamped := m.stamp != nil && m.stamp.Group == uid
	switch {
	case m.folder == elsewhere:
		if known && stamped {
			o.Elsewhere = append(o.Elsewhere, vsphere.VMRef(m.ref))
		} else if known {
			o.Others = append(o.Others, vsphere.VMRef(m.ref))
		}
		return
	case m.hidden:
		if stamped && !known {
			o.Complete, o.Incomplete = false, "VM "+m.name+" is missing from the inventory and is being looked up"
		}
		v.observeReleased(m, uid, o)
		return
	}
	v.observeReleased(m, uid, o)
	if stamped || known || folder != "" && m.folder == folder {
		o.VMs = append(o.VMs, m.shown(v.world.now))
	}
}

// observeReleased adds a VM that the group released. The inventory keeps a missing one until vCenter answers whether it exists.
func (v *vcenter) observeReleased(m *machine, uid string, o *vsphere.Observation) {
	if m.stamp == nil && m.mark != nil && m.mark.Group == uid {
		o.Released = append(o.Released, m.shown(v.world.now))
	}
}

// observeGroup adds the observation of the group besides its VMs.
func (v *vcenter) observeGroup(folder string, o *vsphere.Observation) {
	if f, exists := v.folder(folder); exists {
		o.Folder = f
	} else if folder != "" {
		o.FolderGone = true
	} else if f, exists := v.at(groupLeaf()); exists {
		o.Folder = f
	}
	for _, t := range v.tasks {
		o.InFlight = append(o.InFlight, t.op)
	}
	slices.SortFunc(o.InFlight, func(a, b vsphere.Operation) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	for _, f := range v.failures {
		o.Failures = append(o.Failures, *f)
	}
	slices.SortFunc(o.Failures, func(a, b vsphere.Failure) int {
		return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.Kind, b.Kind))
	})
}

// groupLeaf is the name of the group's folder: its name, a dot, and the first eight characters of its UID.
func groupLeaf() string { return groupName + "." + groupUID[:8] }

// at finds a folder by name.
func (v *vcenter) at(leaf string) (vsphere.Folder, bool) {
	for _, f := range v.folders {
		if f.Name == leaf {
			return f, true
		}
	}
	return vsphere.Folder{}, false
}
