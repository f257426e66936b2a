package model

import (
	"cmp"
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
)

// cloneOf is a request for a clone.
type cloneOf struct {
	name, uuid, folder, template, network string
	stamp                                 vsphere.Stamp
	cpu                                   int32
	memory                                int64
	// rootGiB is zero for the size of the template's disk.
	rootGiB int32
	data    []vsphere.DataDisk
}

// templateGiB is the size of the root disk of each template.
const templateGiB = 10

// clone creates a powered-off VM.
func (v *vcenter) clone(c cloneOf) error {
	t := &task{op: vsphere.Operation{Kind: vsphere.OpClone, Ordinal: c.stamp.Ordinal}, revision: c.stamp.Revision, name: c.name, cpu: c.cpu}
	template, ok := v.world.catalog.templates[c.template]
	if !ok || !template.exists {
		err := fault(vsphere.KindNotFound, "clone "+c.name, "the template does not exist any more")
		v.failed(t, err)
		v.changed()
		return err
	}
	t.effect = func() error {
		if _, exists := v.folder(c.folder); !exists {
			return fault(vsphere.KindNotFound, "clone "+c.name, "the folder does not exist any more")
		}
		if there := v.nameTaken(c.folder, c.name); there != nil {
			if there.owned() && there.uuid == c.uuid {
				return nil // it is the wanted VM
			}
			return fault(vsphere.KindNameTaken, "clone "+c.name, "the name is taken in the folder")
		}
		stamp := c.stamp
		v.vms = append(v.vms, &machine{
			ref: v.ref("vm-"), name: c.name, folder: c.folder, uuid: c.uuid, stamp: &stamp, template: c.template, network: c.network,
			boots: template.boots, hotAdd: template.hotAdd, cpu: c.cpu, memory: c.memory, rootGiB: max(c.rootGiB, templateGiB), sizedGiB: c.rootGiB, data: fake.WithDataDisks("", c.data), power: vsphere.PoweredOff, version: 1, unrecorded: t.unrecorded,
		})
		v.changed()
		return nil
	}
	return v.submit(t, v.pace.clone)
}

// onVM submits an operation on a VM of the group.
func (v *vcenter) onVM(kind vsphere.OperationKind, ordinal int32, ref, revision string, d time.Duration, check func(*machine) error, effect func(*machine)) error {
	m := v.vm(ref)
	what := fmt.Sprintf("%s %s", kind, ref)
	t := &task{op: vsphere.Operation{Kind: kind, Ordinal: ordinal, VM: vsphere.VMRef(ref)}, revision: revision, name: ref}
	if m == nil {
		err := fault(vsphere.KindNotFound, what, "the VM does not exist")
		if kind == vsphere.OpDestroy || kind == vsphere.OpRelease {
			v.changed()
			return nil
		}
		v.failed(t, err)
		return err
	}
	if err := check(m); err != nil {
		v.failed(t, err)
		v.changed()
		return err
	}
	t.effect = func() error {
		there := v.vm(ref)
		switch {
		case there == nil && kind == vsphere.OpDestroy:
			return nil
		case there == nil:
			return fault(vsphere.KindNotFound, what, "the VM does not exist")
		case there.hostAway:
			return fault(vsphere.KindTransient, what, "the host is disconnected")
		}
		if err := check(there); err != nil {
			return err
		}
		effect(there)
		there.strayed = there.strayed || kind == vsphere.OpAdopt && t.unrecorded
		return nil
	}
	return v.submit(t, d)
}

func (v *vcenter) powerOn(ordinal int32, ref string) error {
	return v.onVM(vsphere.OpPowerOn, ordinal, ref, "", v.pace.power, func(m *machine) error {
		if m.tombstone {
			return fault(vsphere.KindConflict, "power on "+m.name, "the VM is marked to be destroyed")
		}
		return nil
	}, func(m *machine) { m.setPower(v.world, vsphere.PoweredOn) })
}

func (v *vcenter) powerOff(ordinal int32, ref string) error {
	return v.onVM(vsphere.OpPowerOff, ordinal, ref, "", v.pace.power, allowed, func(m *machine) { m.setPower(v.world, vsphere.PoweredOff) })
}

func allowed(*machine) error { return nil }

// shutdown sends a request to the guest, which powers off after a while, or never.
func (v *vcenter) shutdown(ordinal int32, ref string, within time.Duration) error {
	m := v.vm(ref)
	if m != nil && m.power == vsphere.PoweredOn && !m.up(v.world.now) {
		return fault(vsphere.KindTransient, "shut down "+m.name, "VMware Tools do not run")
	}
	if err := v.onVM(vsphere.OpShutdownGuest, ordinal, ref, "", v.pace.shutdown, allowed, func(*machine) {}); err != nil {
		return err
	}
	var asked *task
	for _, t := range v.tasks {
		if t.op.Kind == vsphere.OpShutdownGuest && t.op.VM.Value == ref {
			asked = t
		}
	}
	if asked == nil || asked.op.OutcomeUnknown && asked.effect == nil {
		return nil
	}
	m.asked, m.askedAt = true, v.world.now
	boot := m.onAt
	if !m.stubborn && !m.sick {
		v.world.agenda.add(v.world.now.Add(v.pace.shutdown), func() {
			if m.power == vsphere.PoweredOn && m.onAt.Equal(boot) && !m.hostAway && v.vm(ref) == m {
				m.setPower(v.world, vsphere.PoweredOff)
			}
		})
	}
	v.world.agenda.add(v.world.now.Add(within), func() {
		if !asked.done {
			v.end(asked, fault(vsphere.KindTransient, "shut down "+m.name, "the guest did not shut down in time"))
		}
	})
	return nil
}

// markVM writes the tombstone.
func (v *vcenter) markVM(ordinal int32, ref, seen string) error {
	return v.onVM(vsphere.OpMark, ordinal, ref, "", v.pace.change, unchanged(seen), func(m *machine) {
		m.tombstone = true
		m.touched()
		v.changed()
	})
}

// unchanged refuses a VM that has changed since the operator saw it.
func unchanged(seen string) func(*machine) error {
	return func(m *machine) error {
		if seen != "" && m.shown(epoch).ChangeVersion != seen {
			return fault(vsphere.KindConflict, "change "+m.name, "the VM was changed since it was seen")
		}
		return nil
	}
}

func (v *vcenter) destroy(ordinal int32, ref string) error {
	return v.onVM(vsphere.OpDestroy, ordinal, ref, "", v.pace.power, func(m *machine) error {
		switch {
		case !m.owned() || !m.tombstone:
			return fault(vsphere.KindForeign, "destroy "+m.name, "the VM is not marked")
		case m.disk:
			return &vsphere.Error{Kind: vsphere.KindForeignDisk, Op: "destroy " + m.name, Err: &vsphere.ForeignDisks{
				Path: "/" + m.name, Disks: []vsphere.Disk{{Device: "disk-1000-1", Label: "Hard disk 2", File: "[ds] x.vmdk"}}, ChangeVersion: m.shown(epoch).ChangeVersion,
			}}
		}
		return nil
	}, func(m *machine) { v.remove(m) })
}

// release replaces the stamp by a release mark.
func (v *vcenter) release(ordinal int32, ref string) error {
	return v.onVM(vsphere.OpRelease, ordinal, ref, "", v.pace.change, allowed, func(m *machine) {
		if m.stamp == nil {
			return
		}
		m.mark = &vsphere.ReleaseMark{GroupID: m.stamp.GroupID, Namespace: namespace, Ordinal: m.stamp.Ordinal, Revision: m.stamp.Revision, UUID: m.stamp.UUID}
		m.stamp = nil
		m.touched()
		v.changed()
	})
}

// reconfigure changes size, network and revision.
func (v *vcenter) reconfigure(a *plan.Action) error {
	cpu, memory := a.CPU, a.MemoryMiB
	if m := v.vm(a.MoRef); m != nil {
		m.growsTo = cpu
	}
	return v.onVM(vsphere.Reconfiguration{Identify: a.Identify}.Kind(), a.Ordinal, a.MoRef, a.Revision, v.pace.change, func(m *machine) error {
		grows := (cpu == 0 || cpu >= m.cpu) && (memory == 0 || memory >= m.memory)
		same := (cpu == 0 || cpu == m.cpu) && (memory == 0 || memory == m.memory)
		switch {
		case m.tombstone:
			return fault(vsphere.KindConflict, "change "+m.name, "the VM is marked to be destroyed")
		case m.power == vsphere.PoweredOn && !same && (!grows || !m.hotAdd):
			return fault(vsphere.KindOffOnly, "change "+m.name, "the VM has to be off")
		case (a.RootDiskGiB > m.rootGiB || m.data.Growing(a.DataDisks) != nil) && m.snapshot:
			blocked := &vsphere.GrowthBlocked{SizeGiB: a.RootDiskGiB, Blocker: "it has a snapshot", Remedy: "Remove it", ChangeVersion: a.ChangeVersion}
			return &vsphere.Error{Kind: vsphere.KindGrowthBlocked, Op: "change " + m.name, Err: blocked}
		}
		return unchanged(a.ChangeVersion)(m)
	}, func(m *machine) {
		if cpu > 0 {
			m.cpu = cpu
		}
		if memory > 0 {
			m.memory = memory
		}
		m.rootGiB, m.sizedGiB = max(m.rootGiB, a.RootDiskGiB), max(m.sizedGiB, a.RootDiskGiB)
		if m.data = fake.WithDataDisks(m.data, a.DataDisks); a.Identify {
			m.data = fake.Identified(m.data)
		}
		if a.Network != nil {
			m.network, m.rewiredAt = *a.Network, v.world.now
		}
		stamp := *m.stamp
		stamp.Revision = cmp.Or(a.Revision, stamp.Revision)
		m.stamp = &stamp
		m.touched()
		v.changed()
	})
}

// move, rename and adopt are the steps of the adoption of another group's VM.
func (v *vcenter) move(ordinal int32, ref, folder string) error {
	return v.onVM(vsphere.OpMove, ordinal, ref, "", v.pace.change, func(m *machine) error {
		if there := v.nameTaken(folder, m.name); there != nil && there != m {
			return fault(vsphere.KindNameTaken, "move "+m.name, "the name is taken in the folder")
		}
		return nil
	}, func(m *machine) {
		m.folder = folder
		m.touched()
		v.changed()
	})
}

func (v *vcenter) rename(ordinal int32, ref, name string) error {
	return v.onVM(vsphere.OpRename, ordinal, ref, "", v.pace.change, func(m *machine) error {
		if there := v.nameTaken(m.folder, name); there != nil && there != m {
			return fault(vsphere.KindNameTaken, "rename "+m.name, "the name is taken in the folder")
		}
		return nil
	}, func(m *machine) {
		m.name = name
		m.touched()
		v.changed()
	})
}

func (v *vcenter) adopt(ordinal int32, ref, seen string, stamp vsphere.Stamp) error {
	return v.onVM(vsphere.OpAdopt, ordinal, ref, "", v.pace.change, unchanged(seen), func(m *machine) {
		m.stamp, m.mark = &stamp, nil
		m.touched()
		v.world.ledger.adopted(v)
		v.changed()
	})
}

// destroyFolder removes an empty folder.
func (v *vcenter) destroyFolder(ref string) error {
	if v.away {
		return fault(vsphere.KindTransient, "remove the folder", "no route to host")
	}
	if in := v.inFolder(ref); len(in) > 0 {
		err := &vsphere.Error{Kind: vsphere.KindNotEmpty, Op: "remove the folder"}
		for _, m := range in {
			err.Holds = append(err.Holds, vsphere.VMRef(m.ref))
		}
		return err
	}
	delete(v.folders, ref)
	return nil
}
