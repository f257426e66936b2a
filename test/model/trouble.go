package model

import (
	"fmt"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// pick returns one of the group's VMs, or nil.
func (w *world) pick(n int) *machine {
	own := w.vc.own()
	if len(own) == 0 {
		return nil
	}
	return own[n%len(own)]
}

// onVM makes an event from an action on one of the group's VMs.
func onVM(what string, do func(w *world, m *machine, n int) string) func(*world, int) string {
	return func(w *world, n int) string {
		m := w.pick(n)
		if m == nil {
			return what + ": there is no VM"
		}
		more := do(w, m, n/8)
		w.vc.changed()
		return what + " " + m.name + " (" + m.ref + ") " + more
	}
}

// troubles are the events of vCenter, its VMs, and the operator's replicas.
var troubles = map[string]func(w *world, n int) string{
	"lose": onVM("a user deletes", func(w *world, m *machine, _ int) string {
		w.vc.remove(m)
		return ""
	}),
	"lose-all": func(w *world, _ int) string {
		for _, m := range w.vc.own() {
			w.vc.remove(m)
		}
		return "a user deletes all VMs"
	},
	"power-off": onVM("a user powers off", func(w *world, m *machine, n int) string {
		power := []vsphere.PowerState{vsphere.PoweredOff, vsphere.Suspended, vsphere.PoweredOn}[n%3]
		if m.power == power {
			return "not"
		}
		m.touched()
		m.setPower(w, power)
		return string(power)
	}),
	"sick": onVM("the guest gets sick of", func(w *world, m *machine, n int) string {
		switch heals := n%4 == 0; {
		case m.sick && heals && !m.unnoticed():
			m.healedAt = w.now
		case !m.sick && !heals:
			m.downAt = w.now
		}
		m.sick = n%4 > 0
		m.touched()
		return fmt.Sprint(m.sick)
	}),
	"stubborn": onVM("the guest ignores shutdowns of", func(_ *world, m *machine, n int) string {
		m.stubborn = n%3 > 0
		return fmt.Sprint(m.stubborn)
	}),
	"host": onVM("the host goes, or comes back, of", func(w *world, m *machine, _ int) string {
		if m.hostAway = !m.hostAway; m.hostAway {
			m.downAt = w.now
		} else if !m.unnoticed() {
			m.backAt = w.now
		}
		return fmt.Sprint("away ", m.hostAway)
	}),
	"hosts-back": func(w *world, _ int) string {
		for _, m := range w.vc.vms {
			if m.hostAway {
				if m.hostAway = false; !m.unnoticed() {
					m.backAt = w.now
				}
			}
		}
		w.vc.changed()
		return "all hosts come back"
	},
	"hide": onVM("the inventory loses, or finds,", func(w *world, m *machine, _ int) string {
		m.hidden, m.unsized = !m.hidden, m.unsized || !w.describes(m)
		return fmt.Sprint("hidden ", m.hidden)
	}),
	"move-away": onVM("a user moves away, or back,", func(w *world, m *machine, _ int) string {
		home, exists := w.vc.at(groupLeaf())
		switch {
		case m.folder != elsewhere:
			m.folder, m.unsized = elsewhere, m.unsized || !w.describes(m)
		case exists && w.vc.nameTaken(home.Ref.Value, m.name) == nil:
			m.folder = home.Ref.Value
		}
		m.touched()
		w.forgetMoved()
		return "to " + m.folder
	}),
	"disk": onVM("a user attaches, or detaches, a disk of", func(_ *world, m *machine, n int) string {
		m.disk = n%2 == 0
		m.touched()
		return fmt.Sprint(m.disk)
	}),
	"snapshot": onVM("a user takes, or removes, a snapshot of", func(_ *world, m *machine, n int) string {
		m.snapshot = n%2 == 0
		m.touched()
		return fmt.Sprint(m.snapshot)
	}),
	"foreign-vm": func(w *world, n int) string {
		home, exists := w.vc.at(groupLeaf())
		name := fmt.Sprintf("%s-%d", groupName, n%5)
		if !exists || w.vc.nameTaken(home.Ref.Value, name) != nil {
			return "no VM is put into the folder"
		}
		w.vc.vms = append(w.vc.vms, &machine{ref: w.vc.ref("vm-"), name: name, folder: home.Ref.Value, uuid: "foreign-" + name, power: vsphere.PoweredOff, cpu: 1, memory: 1024, version: 1})
		w.vc.changed()
		return "a user puts a VM named " + name + " into the folder"
	},
	"outage": func(w *world, n int) string {
		w.vc.setAway(n%3 > 0)
		return fmt.Sprintf("vCenter is unreachable: %v", w.vc.away)
	},
	"short-outage": func(w *world, n int) string {
		w.vc.setAway(true)
		d := time.Duration(1+n%200) * time.Second
		w.agenda.add(w.now.Add(d), func() { w.vc.setAway(false) })
		return fmt.Sprintf("vCenter is unreachable for %s", d)
	},
	"partial": func(w *world, n int) string {
		w.vc.partial = true
		d := time.Duration(1+n%100) * time.Second
		w.agenda.add(w.now.Add(d), func() {
			w.vc.partial = false
			w.vc.changed()
		})
		w.vc.changed()
		return fmt.Sprintf("the inventory is incomplete for %s", d)
	},
	"unread-catalog": func(w *world, n int) string {
		w.vc.unreadCatalog = n%3 > 0
		w.vc.changed()
		return fmt.Sprintf("templates are unread: %v", w.vc.unreadCatalog)
	},
	"fail": func(w *world, n int) string {
		kind := []vsphere.OperationKind{
			vsphere.OpClone, vsphere.OpClone, vsphere.OpPowerOn, vsphere.OpPowerOff, vsphere.OpReconfigure, vsphere.OpMark, vsphere.OpDestroy, vsphere.OpShutdownGuest, vsphere.OpRelease,
		}[n%9]
		n /= 9
		r := refusal{times: 1 + n%3, kind: []vsphere.Kind{vsphere.KindTransient, vsphere.KindCapacity, vsphere.KindPermission, vsphere.KindSpec}[n/3%4]}
		switch n / 12 % 4 {
		case 0:
			r.late = true
		case 1:
			r.lost, r.happens, r.times = true, true, 1
		case 2:
			r.lost, r.times = true, 1
		}
		w.vc.refuse[string(kind)] = r
		return fmt.Sprintf("the next calls fail: %s %+v", kind, r)
	},
	"slots": func(w *world, n int) string {
		w.vc.slots = n % 3
		w.vc.changed()
		return fmt.Sprintf("tasks at a time: %d", w.vc.slots)
	},
	"takeover": func(w *world, _ int) string {
		w.op.takeover()
		return "another replica takes over"
	},
	"dies": func(w *world, n int) string {
		w.op.dies = death(1 + n%3)
		return fmt.Sprintf("the replica dies at point %d", w.op.dies)
	},
	"wipe-status": func(w *world, _ int) string {
		w.api.edit(func(g *v1alpha1.VmGroup) { g.Status = v1alpha1.VmGroupStatus{} })
		w.audit.edit = false
		for _, m := range w.vc.own() {
			m.seenReady, m.shownDown = time.Time{}, time.Time{}
		}
		w.forgetMoved()
		return "status is wiped"
	},
	"restore": func(w *world, n int) string {
		if len(w.backups) == 0 || w.api.group == nil {
			return "nothing is restored"
		}
		b := w.backups[n%len(w.backups)]
		next := b.group.DeepCopy()
		if n/8%2 == 0 {
			next.Spec, next.Generation, next.Annotations = w.api.group.Spec, w.api.group.Generation, w.api.group.Annotations
		}
		next.DeletionTimestamp = w.api.group.DeletionTimestamp
		w.audit.edit = w.audit.edit || b.edited || next.Status.ObservedGeneration < next.Generation // an edit since the backup counts again
		w.audit.restored(w)
		w.api.store(next)
		w.forgetMoved()
		for _, m := range w.vc.own() {
			m.seenReady, m.shownDown = time.Time{}, time.Time{}
			m.unrecorded = m.unrecorded || !slices.ContainsFunc(next.Status.VMs, func(vm v1alpha1.VMStatus) bool { return vm.MoRef == m.ref })
		}
		for _, t := range slices.Concat(w.vc.tasks, w.vc.orphans) {
			t.unrecorded = true
		}
		return fmt.Sprintf("status comes back from a backup, with spec %v", n/8%2 == 1)
	},
}

// forgetMoved removes VMs from the world that cannot be found any more: they are outside of the root folder, and status does not list them.
func (w *world) forgetMoved() {
	if w.api.group == nil {
		return
	}
	for _, m := range slices.Clone(w.vc.vms) {
		if m.folder == elsewhere && !slices.ContainsFunc(w.api.group.Status.VMs, func(vm v1alpha1.VMStatus) bool { return vm.MoRef == m.ref }) {
			w.vc.remove(m) // a restored status can list it again
		}
	}
}

// forgetReleased removes VMs from the world that were released outside of the root folder. The group does not know them any more.
func (w *world) forgetReleased() {
	w.vc.vms = slices.DeleteFunc(w.vc.vms, func(m *machine) bool {
		return m.folder == elsewhere && m.stamp == nil && m.mark != nil && !slices.ContainsFunc(w.api.group.Status.VMs, func(vm v1alpha1.VMStatus) bool { return vm.MoRef == m.ref })
	})
}

// describes reports whether status contains the shape of a VM.
func (w *world) describes(m *machine) bool {
	return w.api.group != nil && slices.ContainsFunc(slices.Concat(w.api.group.Status.Revisions, w.api.group.Status.AdoptedRevisions), func(r v1alpha1.Revision) bool {
		return r.Revision == m.stamp.Revision
	})
}
