package govmomi

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

// thing is a VM or a folder of the model.
type thing struct {
	ref    vsphere.Ref
	name   string
	parent vsphere.Ref

	power     types.VirtualMachinePowerState
	booted    time.Time
	connected bool
	address   string
	tools     bool
	uuid      string
	template  bool
	version   int
	cpu       int32
	extra     map[string]string
	// dark is true while the host is disconnected: vCenter shows no configuration.
	dark bool

	// moved is the time of its last move, stamped that of its last stamp, darkened that of its host's last change.
	moved, stamped, darkened time.Time
	// stamps are all its stamps in order; a missing stamp is the zero value.
	stamps []vsphere.Stamp
	// told numbers the changes of each property, for collectors that do not compare values.
	told map[string]int
}

// model is a vCenter. Its changes take no time; calls do: see modelCalls.
type model struct {
	mu     sync.Mutex
	things map[vsphere.Ref]*thing
	root   vsphere.Ref
	above  vsphere.Ref
	last   int
	change int
	// moving is closed at the next change.
	moving chan struct{}
	// session is the number of the current session; ended is closed when it ends.
	session int
	ended   chan struct{}
	// faulty: a property of stamp or mark can have a fault in place of its value.
	faulty bool
	// cut is closed when connections break, with all waiting calls.
	cut chan struct{}
	// opening is closed when the operator creates a filter, with which a stream begins.
	opening chan struct{}
	// destroyed are things that were destroyed below the root, with the number of the change.
	destroyed map[vsphere.Ref]int
	// left are destroyed things that a stream reported as left. After a move, a thing can return and be destroyed
	// between two responses; the stream does not report that.
	left map[vsphere.Ref]bool
}

func newModel() *model {
	m := &model{
		things: map[vsphere.Ref]*thing{}, root: vsphere.FolderRef("group-root"), above: vsphere.FolderRef("group-above"),
		moving: make(chan struct{}), ended: make(chan struct{}), cut: make(chan struct{}), opening: make(chan struct{}),
		destroyed: map[vsphere.Ref]int{}, left: map[vsphere.Ref]bool{},
	}
	m.things[m.above] = &thing{ref: m.above, name: "vm"}
	m.things[m.root] = &thing{ref: m.root, name: "vm-operator", parent: m.above}
	return m
}

// do changes the model.
func (m *model) do(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
	m.change++
	close(m.moving)
	m.moving = make(chan struct{})
}

// endSession ends the session with all its views and collectors.
func (m *model) endSession() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.session++
	close(m.ended)
	m.ended = make(chan struct{})
}

// breakCalls breaks the connections of calls that wait for news.
func (m *model) breakCalls() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.cut)
	m.cut = make(chan struct{})
}

// opens signals that a stream begins.
func (m *model) opens() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.opening)
	m.opening = make(chan struct{})
}

// hasTold signals that a response of a stream has arrived.
func (m *model) hasTold(set *types.UpdateSet) {
	if set == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, filter := range set.FilterSet {
		for _, u := range filter.ObjectSet {
			if ref := fromRef(u.Obj); u.Kind == types.ObjectUpdateKindLeave && m.things[ref] == nil {
				m.left[ref] = true
			}
		}
	}
}

// awaits returns the first result of find, or nil if there is none when over is closed.
func (m *model) awaits(over <-chan struct{}, find func() *thing) *thing {
	for {
		m.mu.Lock()
		t, moving := find(), m.moving
		m.mu.Unlock()
		if t != nil {
			return t
		}
		select {
		case <-over:
			return nil
		case <-moving:
		}
	}
}

// nextStream returns a channel that is closed when the next stream begins.
func (m *model) nextStream() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.opening
}

func (m *model) newRef(kind string) vsphere.Ref {
	m.last++
	if kind == vsphere.TypeFolder {
		return vsphere.FolderRef("group-" + strconv.Itoa(m.last))
	}
	return vsphere.VMRef("vm-" + strconv.Itoa(m.last))
}

func (m *model) addFolder(parent vsphere.Ref, name string) *thing {
	t := &thing{ref: m.newRef(vsphere.TypeFolder), name: name, parent: parent, moved: time.Now()}
	m.things[t.ref] = t
	return t
}

// newestFolder is the thing created last, if it is an existing folder.
func (m *model) newestFolder() *thing {
	return m.things[vsphere.FolderRef("group-"+strconv.Itoa(m.last))]
}

func (m *model) addVM(parent vsphere.Ref, name string) *thing {
	t := &thing{
		ref: m.newRef(vsphere.TypeVirtualMachine), name: name, parent: parent, power: types.VirtualMachinePowerStatePoweredOff, connected: true,
		version: 1, cpu: 2, extra: map[string]string{}, moved: time.Now(), told: map[string]int{},
	}
	t.uuid = "uuid-of-" + t.ref.Value
	m.things[t.ref] = t
	return t
}

// set records a write of properties, even without a change of value.
func (m *model) set(t *thing, names ...string) {
	if t.told == nil {
		t.told = map[string]int{}
	}
	for _, name := range names {
		t.told[name] = m.change + 1
	}
}

// edited records a change of the configuration.
func (m *model) edited(t *thing) {
	t.version++
	m.set(t, propChangeVersion)
}

// stamp writes a VM's stamp and mark.
func (m *model) stamp(t *thing, values map[string]string) {
	t.extra, t.stamped = values, time.Now()
	stamp, _ := inventory.DecodeStamp(values)
	if stamp == nil {
		stamp = &vsphere.Stamp{}
	}
	t.stamps = append(t.stamps, *stamp)
	m.edited(t)
}

// carriedSince reports whether any stamp of a VM satisfies is, since the stamp with a revision.
func (t *thing) carriedSince(revision string, is func(vsphere.Stamp) bool) bool {
	i := slices.IndexFunc(t.stamps, func(s vsphere.Stamp) bool { return s.Revision == revision })
	return i >= 0 && slices.ContainsFunc(t.stamps[i:], is)
}

func (t *thing) isFolder() bool { return t.ref.Type == vsphere.TypeFolder }

// inside reports whether a thing is below the root.
func (m *model) inside(ref vsphere.Ref) bool {
	for range deepestOfModel {
		t := m.things[ref]
		if t == nil {
			return false
		}
		if ref = t.parent; ref == m.root {
			return true
		}
	}
	return false
}

const deepestOfModel = 16

// below are the things below the root, sorted.
func (m *model) below() []*thing {
	var all []*thing
	for ref, t := range m.things {
		if m.inside(ref) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, compareThings)
	return all
}

func compareThings(a, b *thing) int { return a.number() - b.number() }

func (t *thing) number() int {
	n, _ := strconv.Atoi(t.ref.Value[strings.LastIndexByte(t.ref.Value, '-')+1:])
	return n
}

// named is a folder with a name.
func (m *model) named(name string) *thing {
	for _, t := range m.things {
		if t.isFolder() && t.name == name {
			return t
		}
	}
	return nil
}

// child is the thing with a name in a folder.
func (m *model) child(parent vsphere.Ref, name string) *thing {
	for _, t := range m.things {
		if t.parent == parent && t.name == name {
			return t
		}
	}
	return nil
}

// destroy removes a thing and everything below it.
func (m *model) destroy(ref vsphere.Ref) {
	for _, t := range maps.Clone(m.things) {
		if t.parent == ref {
			m.destroy(t.ref)
		}
	}
	if m.inside(ref) {
		m.destroyed[ref] = m.change + 1
	}
	delete(m.things, ref)
}

// property returns vCenter's value of a property; nothing if it is unset.
func (t *thing) property(name string) any {
	switch name {
	case propName:
		return t.name
	case propParent:
		if t.parent.IsZero() {
			return nil
		}
		return toRef(t.parent)
	case propPower:
		return t.power
	case propBootTime:
		if t.booted.IsZero() {
			return nil
		}
		return t.booted
	case propConnection:
		if t.connected {
			return types.VirtualMachineConnectionStateConnected
		}
		return types.VirtualMachineConnectionStateDisconnected
	case propGuestIP:
		if t.address == "" {
			return nil
		}
		return t.address
	case propQuestion, propGuestNet, propPool:
		return nil
	case propTools:
		if t.tools {
			return string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
		}
		return string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning)
	case propDisabled:
		if t.power != types.VirtualMachinePowerStatePoweredOn {
			return types.ArrayOfString{String: []string{"PowerOffVM_Task", "ShutdownGuest"}}
		}
		return types.ArrayOfString{String: []string{"PowerOnVM_Task"}}
	case propHeartbeat:
		if t.tools {
			return types.ManagedEntityStatusGreen
		}
		return types.ManagedEntityStatusGray
	}
	if t.dark {
		return nil
	}
	return t.config(name)
}

// config returns vCenter's value of a configuration property.
func (t *thing) config(name string) any {
	switch name {
	case propInstanceUUID:
		return t.uuid
	case propTemplate:
		return t.template
	case propChangeVersion:
		return strconv.Itoa(t.version)
	case propCPU:
		return t.cpu
	case propMemory:
		return int32(1024)
	case propCores:
		return int32(1)
	case propCPUHotAdd, propMemoryHotAdd:
		return false
	case propMemoryLimit, propMemoryStep, propDisks, propAdapters, propCreateDate:
		return nil
	}
	if i := slices.Index(stampProperties, name); i >= 0 {
		if value, ok := t.extra[inventory.Keys[i]]; ok {
			return types.OptionValue{Key: inventory.Keys[i], Value: value}
		}
		return nil
	}
	panic("the model does not know property " + name)
}

// seen is a VM in a listing.
func (t *thing) seen() inventory.Seen {
	o := object{ref: t.ref, values: map[string]any{}}
	for _, name := range slices.Concat(baseProperties, detailProperties) {
		if v := t.property(name); v != nil {
			o.values[name] = v
		}
	}
	seen, err := seenOf(baseOf(o), o)
	if err != nil {
		panic(err)
	}
	return seen
}

func (t *thing) String() string {
	return fmt.Sprintf("%s %q in %s", t.ref.Value, t.name, t.parent.Value)
}
