package model

import (
	"fmt"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// rootFolder is the operator's folder; VMs that people move out of it lie elsewhere.
const elsewhere = "group-elsewhere"

// confirmAfter is how long vCenter takes to confirm that a VM does not exist.
const confirmAfter = 2 * time.Second

// vcenter is the world's vCenter, and what the operator's connection shows of it.
type vcenter struct {
	world   *world
	vms     []*machine
	folders map[string]vsphere.Folder
	serial  int
	pace    pace
	// away: nothing answers. awaySince is since when. partial: the inventory is not complete. unreadCatalog: templates are not read yet.
	away, partial, unreadCatalog bool
	awaySince                    time.Time
	// lacks are privileges that the account does not have on the root folder.
	lacks []string
	// tasks are those that the operator's process knows; orphans those of a process that ended.
	tasks, orphans []*task
	failures       []*vsphere.Failure
	// refuse is which calls fail, by kind.
	refuse map[string]refusal
	// slots is how many tasks may run; 0 is any number.
	slots int
	// removed is when VMs that do not exist any more were removed.
	removed map[string]time.Time
}

// pace is how long things take.
type pace struct{ clone, power, change, boot, shutdown, settle time.Duration }

// paceOf is the pace of a setup.
func paceOf(s Setup) pace {
	p := pace{clone: 20 * time.Second, power: 2 * time.Second, change: time.Second, boot: 30 * time.Second, shutdown: 10 * time.Second}
	if s.Slow {
		p = pace{clone: 200 * time.Second, power: 15 * time.Second, change: 5 * time.Second, boot: 100 * time.Second, shutdown: 50 * time.Second, settle: time.Second}
	}
	return p
}

// ref returns a new reference.
func (v *vcenter) ref(prefix string) string {
	v.serial++
	return fmt.Sprintf("%s%d", prefix, v.serial)
}

// vm finds a VM.
func (v *vcenter) vm(ref string) *machine {
	for _, m := range v.vms {
		if m.ref == ref {
			return m
		}
	}
	return nil
}

// own are the VMs that carry the group's stamp, in the order in which they were made.
func (v *vcenter) own() (own []*machine) {
	for _, m := range v.vms {
		if m.owned() {
			own = append(own, m)
		}
	}
	return own
}

// living are those that are not marked to be destroyed.
func (v *vcenter) living() (living []*machine) {
	for _, m := range v.own() {
		if !m.tombstone {
			living = append(living, m)
		}
	}
	return living
}

// charged is how many VMs count in quotas: those that exist, are being cloned, leave, or were released; and how many CPUs those have that exist.
func (v *vcenter) charged() (vms, cpus int64) {
	for _, m := range v.vms {
		if m.owned() || m.mark != nil && m.mark.Group == groupUID {
			vms++
			if !m.unsized {
				cpus += int64(m.cpu)
			}
		}
	}
	for _, t := range slices.Concat(v.tasks, v.orphans) {
		if t.op.Kind == vsphere.OpClone && !t.done {
			vms++ // how large it will be can be lost with status
		}
	}
	return vms, cpus
}

// coming is how many CPUs the VMs will have that are being cloned.
func (v *vcenter) coming() (cpus int64) {
	for _, t := range slices.Concat(v.tasks, v.orphans) {
		if t.op.Kind == vsphere.OpClone && !t.done {
			cpus += int64(t.cpu)
		}
	}
	return cpus
}

// clones reports whether a VM of a name is being cloned.
func (v *vcenter) clones(name string) bool {
	return slices.ContainsFunc(slices.Concat(v.tasks, v.orphans), func(t *task) bool { return t.op.Kind == vsphere.OpClone && t.name == name && !t.done })
}

// changed tells the operator that the inventory has changed.
func (v *vcenter) changed() { v.world.op.wake("the inventory changed") }

// remove takes a VM out of the inventory. Later vCenter confirms that it is gone.
func (v *vcenter) remove(m *machine) {
	v.vms = slices.DeleteFunc(v.vms, func(other *machine) bool { return other == m })
	if v.removed == nil {
		v.removed = map[string]time.Time{}
	}
	v.removed[m.ref] = v.world.now
	for _, t := range slices.Clone(v.tasks) {
		if t.op.Kind == vsphere.OpShutdownGuest && t.op.VM.Value == m.ref {
			v.end(t, nil)
		}
	}
	v.changed()
	v.world.agenda.add(v.world.now.Add(confirmAfter), v.changed)
}

// folder finds a folder.
func (v *vcenter) folder(ref string) (vsphere.Folder, bool) {
	f, ok := v.folders[ref]
	return f, ok
}

// ensure makes sure that a folder of the group's namespace exists.
func (v *vcenter) ensure(leaf string) vsphere.Folder {
	for _, f := range v.folders {
		if f.Name == leaf {
			return f
		}
	}
	if v.folders == nil {
		v.folders = map[string]vsphere.Folder{}
	}
	f := vsphere.Folder{Ref: vsphere.FolderRef(v.ref("group-")), Name: leaf, Path: "/DC0/vm/vm-operator/" + memberName + "/" + namespace + "/" + leaf,
		Place: vsphere.FolderPath{Member: memberName, Namespace: namespace, Leaf: leaf}}
	v.folders[f.Ref.Value] = f
	return f
}

// inFolder are the VMs that lie in a folder.
func (v *vcenter) inFolder(ref string) (in []*machine) {
	for _, m := range v.vms {
		if m.folder == ref {
			in = append(in, m)
		}
	}
	return in
}

// nameTaken reports whether a folder has a VM of this name.
func (v *vcenter) nameTaken(folder, name string) *machine {
	for _, m := range v.inFolder(folder) {
		if m.name == name {
			return m
		}
	}
	return nil
}

// setAway makes vCenter unreachable, or reachable again.
func (v *vcenter) setAway(away bool) {
	if v.away == away {
		return
	}
	if v.away = away; away {
		v.awaySince = v.world.now
	}
	v.changed()
}
