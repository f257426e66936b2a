package govmomi

import (
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

// person changes the model like users, other tools and vCenter itself.
type person struct {
	m    *model
	dice *dice
	ids  []vsphere.GroupID
	n    int
	// last is the VM that was changed last: rapid changes of one object are the hard cases.
	last *thing
}

// pick returns a random match, or nil.
func (p *person) pick(matches func(*thing) bool) *thing {
	var all []*thing
	for _, t := range p.m.things {
		if t.ref != p.m.root && t.ref != p.m.above && matches(t) {
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		return nil
	}
	chosen, least := all[0], uint64(0)
	turn := p.dice.next("pick")
	for i, t := range all {
		// Map order is random: the smallest of the things' own numbers wins.
		if x := (uint64(t.number()) + turn) * 0x9e3779b97f4a7c15; i == 0 || x < least {
			chosen, least = t, x
		}
	}
	return chosen
}

func (p *person) vm() *thing {
	if p.last == nil || p.m.things[p.last.ref] == nil || !p.dice.percent("once more", 60) {
		p.last = p.pick(func(t *thing) bool { return !t.isFolder() })
	}
	return p.last
}

func (p *person) folder() *thing { return p.pick((*thing).isFolder) }

// name is a new name.
func (p *person) name() string { p.n++; return fmt.Sprintf("n%d", p.n) }

// place is a folder below the root, or sometimes the one above it.
func (p *person) place() vsphere.Ref {
	if p.dice.percent("outside", 25) {
		return p.m.above
	}
	if f := p.pick(func(t *thing) bool { return t.isFolder() && p.m.inside(t.ref) }); f != nil {
		return f.ref
	}
	return p.m.root
}

// write writes a VM's stamp: for one of the groups, for none, for another installation, or malformed.
func (p *person) write(t *thing) {
	id := p.ids[p.dice.below("group", len(p.ids))]
	values := map[string]string{}
	switch p.dice.below("stamp", 10) {
	case 0:
		p.m.stamp(t, values)
		return
	case 1:
		values[inventory.KeyOwner] = "v1;broken"
		p.m.stamp(t, values)
		return
	case 2:
		other := id
		other.Installation = "another"
		p.encode(values, other)
		p.m.stamp(t, values)
		return
	case 3:
		kvs, err := inventory.EncodeRelease(vsphere.ReleaseMark{GroupID: id, Namespace: "ns", UUID: t.uuid})
		if err != nil {
			panic(err)
		}
		for _, kv := range kvs {
			values[kv.Key] = kv.Value
		}
		p.m.stamp(t, values)
		return
	case 4:
		values[inventory.KeyTombstone] = "now"
	}
	p.encode(values, id)
	p.m.stamp(t, values)
}

func (p *person) encode(values map[string]string, id vsphere.GroupID) {
	kvs, err := inventory.EncodeStamp(vsphere.Stamp{GroupID: id, Revision: p.name(), CloneMode: "Full"})
	if err != nil {
		panic(err)
	}
	for _, kv := range kvs {
		if values[kv.Key] == "" {
			values[kv.Key] = kv.Value
		}
	}
}

// acts makes one change, and returns its description.
func (p *person) acts() (what string) {
	p.m.do(func() { what = p.change() })
	return what
}

func (p *person) change() string {
	switch turn := p.dice.below("change", 100); {
	case turn < 12:
		return p.clone()
	case turn < 24:
		return p.switchPower()
	case turn < 28:
		return p.boots()
	case turn < 54:
		return p.edits()
	case turn < 66:
		return p.destroys()
	case turn < 75:
		return p.goesDark()
	case turn < 83:
		return p.move(p.vm())
	case turn < 86:
		return p.rename(p.folder())
	case turn < 90:
		return p.move(p.folder())
	case turn < 97:
		return p.remakes()
	default:
		return "makes folder " + p.m.addFolder(p.place(), p.name()).String()
	}
}

// edits changes the name or the configuration of a VM.
func (p *person) edits() string {
	t := p.vm()
	if t == nil || t.dark {
		return "has nothing to edit"
	}
	switch turn := p.dice.below("edit", 100); {
	case turn < 45:
		p.write(t)
		return "stamps " + t.String()
	case turn < 65:
		return p.rename(t)
	case turn < 82:
		t.template = !t.template
		p.m.set(t, propTemplate)
		p.m.edited(t)
		return "makes a template, or a VM again, of " + t.String()
	default:
		t.cpu++
		p.m.edited(t)
		return "resizes " + t.String()
	}
}

func (p *person) destroys() string {
	t := p.vm()
	if t == nil {
		return "has nothing to destroy"
	}
	p.m.destroy(t.ref)
	return "destroys " + t.String()
}

// strikes changes the VM that was read or changed last.
func (p *person) strikes() (what string) {
	p.m.do(func() {
		switch t := p.last; {
		case t == nil || p.m.things[t.ref] == nil || t.dark:
			what = "does nothing"
		case p.dice.percent("destroys", 30):
			p.m.destroy(t.ref)
			what = "destroys " + t.String()
		case p.dice.percent("stamps", 40):
			p.write(t)
			what = "stamps " + t.String()
		default:
			what = p.toggle(t)
		}
	})
	return what
}

func (p *person) clone() string {
	t := p.m.addVM(p.place(), p.name())
	p.write(t)
	return "makes " + t.String()
}

// newest is the VM that was created last, if it exists.
func (p *person) newest() *thing { return p.m.things[vsphere.VMRef(fmt.Sprintf("vm-%d", p.m.last))] }

func (p *person) switchPower() string {
	if t := p.vm(); t != nil {
		return p.toggle(t)
	}
	return "has nothing to switch"
}

func (p *person) toggle(t *thing) string {
	if t.power == types.VirtualMachinePowerStatePoweredOn {
		t.power, t.booted, t.tools, t.address = types.VirtualMachinePowerStatePoweredOff, time.Time{}, false, ""
	} else {
		t.power, t.booted = types.VirtualMachinePowerStatePoweredOn, time.Now().UTC()
	}
	p.m.set(t, propPower, propDisabled, propBootTime, propTools, propHeartbeat, propGuestIP)
	return fmt.Sprintf("makes %s %s", t, t.power)
}

func (p *person) boots() string {
	t := p.pick(func(t *thing) bool { return t.power == types.VirtualMachinePowerStatePoweredOn })
	if t == nil {
		return "waits for a guest"
	}
	t.tools, t.address = !t.tools, p.name()
	p.m.set(t, propTools, propHeartbeat, propGuestIP)
	return "changes the guest of " + t.String()
}

func (p *person) rename(t *thing) string {
	if t == nil {
		return "has nothing to rename"
	}
	was := t.String()
	t.name = p.name()
	p.m.set(t, propName)
	return fmt.Sprintf("renames %s to %s", was, t.name)
}

func (p *person) move(t *thing) string {
	to := p.place()
	if t == nil || to == t.parent || p.within(to, t.ref) || p.m.child(to, t.name) != nil {
		return "has nothing to move"
	}
	was := t.String()
	t.parent = to
	p.m.set(t, propParent)
	for _, below := range p.m.things {
		if below == t || p.within(below.ref, t.ref) {
			below.moved = time.Now()
		}
	}
	return fmt.Sprintf("moves %s to %s", was, to.Value)
}

// within reports whether a thing is a folder or lies below it.
func (p *person) within(ref, folder vsphere.Ref) bool {
	for range deepestOfModel {
		if ref == folder {
			return true
		}
		t := p.m.things[ref]
		if t == nil {
			return false
		}
		ref = t.parent
	}
	return false
}

// goesDark disconnects or reconnects the host of a VM. While it is disconnected, vCenter shows no configuration.
func (p *person) goesDark() string {
	t := p.vm()
	if t == nil {
		return "has no host"
	}
	t.dark, t.connected, t.darkened = !t.dark, t.dark, time.Now()
	p.m.set(t, propConnection, propChangeVersion, propTemplate, propInstanceUUID)
	return fmt.Sprintf("makes %s dark: %t", t, t.dark)
}

// remakes destroys or renames a folder, and creates another one with its name.
func (p *person) remakes() string {
	t := p.folder()
	if t == nil {
		return "has no folder"
	}
	was, name := t.String(), t.name
	if p.dice.percent("rename", 50) {
		t.name = p.name()
		p.m.set(t, propName)
	} else {
		p.m.destroy(t.ref)
	}
	made := p.m.addFolder(t.parent, name)
	return fmt.Sprintf("makes %s in place of %s", made, was)
}
