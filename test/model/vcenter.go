package model

import (
	"fmt"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// elsewhere is a folder outside of the operator's root folder, to which users move VMs.
const elsewhere = "group-elsewhere"

// confirmAfter is the time until vCenter confirms that a VM does not exist.
const confirmAfter = 2 * time.Second

// vcenter is the world's vCenter, with the view of the operator's connection.
type vcenter struct {
	world   *world
	vms     []*machine
	folders map[string]vsphere.Folder
	serial  int
	pace    pace
	// away means that vCenter is unreachable, since awaySince. partial means that the inventory is incomplete. unreadCatalog means that
	// templates are not read yet.
	away, partial, unreadCatalog bool
	awaySince                    time.Time
	// lacks are the missing privileges of the account on the root folder.
	lacks []string
	// tasks are known to the operator's process. orphans belong to an ended process.
	tasks, orphans []*task
	failures       []*vsphere.Failure
	// refuse contains the failing calls, by kind.
	refuse map[string]refusal
	// slots limits the running tasks. 0 means no limit.
	slots int
	// removed contains the time of removal of deleted VMs.
	removed map[string]time.Time
}

// pace contains the durations of actions.
type pace struct{ clone, power, change, boot, shutdown, settle time.Duration }

// paceOf returns the pace of a setup.
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

// own returns the VMs with the group's stamp, in the order of their creation.
func (v *vcenter) own() (own []*machine) {
	for _, m := range v.vms {
		if m.owned() {
			own = append(own, m)
		}
	}
	return own
}

// living returns the group's VMs that are not marked for destruction.
func (v *vcenter) living() (living []*machine) {
	for _, m := range v.own() {
		if !m.tombstone {
			living = append(living, m)
		}
	}
	return living
}

// charged returns the VMs that count in quotas: existing, cloning, leaving and released ones. cpus covers only the existing ones.
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
			vms++ // its size can be lost with status
		}
	}
	return vms, cpus
}

// coming returns the CPUs of the VMs that are being cloned.
func (v *vcenter) coming() (cpus int64) {
	for _, t := range slices.Concat(v.tasks, v.orphans) {
		if t.op.Kind == vsphere.OpClone && !t.done {
			cpus += int64(t.cpu)
		}
	}
	return cpus
}

// growing returns the CPUs that changes in flight add to VMs.
func (v *vcenter) growing() (cpus int64) {
	for _, t := range slices.Concat(v.tasks, v.orphans) {
		if m := v.vm(t.op.VM.Value); t.op.Kind == vsphere.OpReconfigure && !t.done && m != nil {
			cpus += int64(max(0, m.growsTo-m.cpu))
		}
	}
	return cpus
}

// clones reports whether a VM with this name is being cloned.
func (v *vcenter) clones(name string) bool {
	return slices.ContainsFunc(slices.Concat(v.tasks, v.orphans), func(t *task) bool { return t.op.Kind == vsphere.OpClone && t.name == name && !t.done })
}

// changed notifies the operator of a change of the inventory.
func (v *vcenter) changed() { v.world.op.wake("the inventory changed") }

// remove removes a VM from the inventory. Later vCenter confirms its deletion.
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

// folder finds a folder by reference.
func (v *vcenter) folder(ref string) (vsphere.Folder, bool) {
	f, ok := v.folders[ref]
	return f, ok
}

// ensure returns the folder of a group in the namespace, and creates it if it is missing.
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

// inFolder returns the VMs in a folder.
func (v *vcenter) inFolder(ref string) (in []*machine) {
	for _, m := range v.vms {
		if m.folder == ref {
			in = append(in, m)
		}
	}
	return in
}

// nameTaken returns the VM with this name in a folder, or nil.
func (v *vcenter) nameTaken(folder, name string) *machine {
	for _, m := range v.inFolder(folder) {
		if m.name == name {
			return m
		}
	}
	return nil
}

// setAway makes vCenter unreachable or reachable.
func (v *vcenter) setAway(away bool) {
	if v.away == away {
		return
	}
	if v.away = away; away {
		v.awaySince = v.world.now
	}
	v.changed()
}
