package govmomi

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// modelGroup is a group whose status records VMs and a folder, and whose reconciler observes when it is notified.
type modelGroup struct {
	id    vsphere.GroupID
	path  vsphere.FolderPath
	dirty bool

	// mu guards the fields below.
	mu     sync.Mutex
	folder vsphere.Ref
	known  []vsphere.Ref
	// seen is the last state of each known VM.
	seen map[vsphere.Ref]sight
	// saw is the last observation.
	saw vsphere.Observation
}

// modelLag is the maximum age of an observation.
const modelLag = 5 * time.Second

// sight is the time at which a VM was last seen, and the revision in its group stamp.
type sight struct {
	at       time.Time
	revision string
}

// query is the group's request. The lock is held.
func (g *modelGroup) query() vsphere.Query {
	return vsphere.Query{ID: g.id, Path: g.path, Folder: g.folder, Known: slices.Clone(g.known)}
}

// controller reconciles groups when they are notified.
type controller struct {
	mu     sync.Mutex
	groups []*modelGroup
	kick   chan struct{}
}

func (c *controller) GroupChanged(key vsphere.GroupKey) {
	c.mu.Lock()
	for _, g := range c.groups {
		g.dirty = g.dirty || g.id.Key() == key
	}
	c.mu.Unlock()
	kick(c.kick)
}

func (c *controller) ServerChanged() {
	c.mu.Lock()
	for _, g := range c.groups {
		g.dirty = true
	}
	c.mu.Unlock()
	kick(c.kick)
}

// next returns a notified group, or nil.
func (c *controller) next() *modelGroup {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.groups {
		if g.dirty {
			g.dirty = false
			return g
		}
	}
	return nil
}

// pending reports whether a group was notified and has not observed since.
func (c *controller) pending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.groups, func(g *modelGroup) bool { return g.dirty })
}

// reconcile observes a group, checks the result, and records it. It returns contradictions.
func (g *modelGroup) reconcile(s *Server, m *model) (wrong []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.unsettled(s)
	o := s.Observe(g.query())
	if after := g.unsettled(s); o.Complete {
		for _, ref := range before {
			if slices.Contains(after, ref) {
				wrong = append(wrong, fmt.Sprintf("group %s takes %s of its folder for absent, which is without a verdict", g.id.Group, ref.Value))
			}
		}
	}
	m.mu.Lock()
	wrong = append(wrong, g.judge(o, m)...)
	m.mu.Unlock()
	if g.record(o) {
		o = s.Observe(g.query())
	}
	g.saw = o
	return wrong
}

// found records a folder, if the group has none.
func (g *modelGroup) found(folder vsphere.Ref) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.folder.IsZero() {
		g.folder = folder
	}
}

// unsettled are missing, unrecorded VMs of the group's folder that can be clones of the group.
func (g *modelGroup) unsettled(s *Server) (refs []vsphere.Ref) {
	for _, ref := range s.index.Suspects() {
		if vm, _ := s.index.VM(ref); vm.Folder == g.folder && !g.folder.IsZero() && vm.ChangeVersion == "" && !slices.Contains(g.known, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

func (g *modelGroup) judge(o vsphere.Observation, m *model) (wrong []string) {
	say := func(format string, args ...any) {
		wrong = append(wrong, fmt.Sprintf("group %s: ", g.id.Group)+fmt.Sprintf(format, args...))
	}
	for _, ref := range o.Gone {
		if m.things[ref] != nil {
			say("%s is reported as gone, and exists", ref.Value)
		}
	}
	if o.FolderGone && m.things[g.folder] != nil {
		say("folder %s is reported as gone, and exists", g.folder.Value)
	}
	if !o.Complete {
		return wrong
	}
	for _, ref := range slices.Concat(o.Elsewhere, o.Others) {
		if t, seen := m.things[ref], g.seen[ref]; t != nil && m.inside(ref) && seen.at.Sub(t.moved) > modelLag {
			say("%s is elsewhere, though it has not moved since it was seen", ref.Value)
		}
	}
	for i := range o.VMs {
		vm := &o.VMs[i]
		seen, t := g.seen[vm.Ref], m.things[vm.Ref]
		if seen.revision == "" || t == nil {
			continue
		}
		has := vsphere.Stamp{}
		if vm.Stamp != nil {
			has = *vm.Stamp
		}
		if !t.carriedSince(seen.revision, func(s vsphere.Stamp) bool { return s.GroupID == has.GroupID && s.Revision == has.Revision }) {
			say("%s has the stamp %+v, which is older than %s that was seen", vm.Ref.Value, has, seen.revision)
		}
	}
	return wrong
}

// record updates status from an observation. It reports whether the group's request changed.
func (g *modelGroup) record(o vsphere.Observation) bool {
	before, folder := slices.Clone(g.known), g.folder
	if o.FolderGone {
		g.folder = vsphere.Ref{}
	}
	forget := func(ref vsphere.Ref) {
		g.known = slices.DeleteFunc(g.known, func(r vsphere.Ref) bool { return r == ref })
		delete(g.seen, ref)
	}
	for _, ref := range slices.Concat(o.Gone, o.Others) {
		forget(ref)
	}
	for i := range o.VMs {
		vm := &o.VMs[i]
		own := vm.Stamp != nil && vm.Stamp.GroupID == g.id
		switch {
		case !o.Complete:
		case own && !slices.Contains(g.known, vm.Ref):
			g.known = append(g.known, vm.Ref)
		case !own:
			forget(vm.Ref)
		}
		if own && slices.Contains(g.known, vm.Ref) {
			g.seen[vm.Ref] = sight{at: time.Now(), revision: vm.Stamp.Revision}
		}
	}
	return folder != g.folder || !slices.Equal(before, g.known)
}

// missedWakeUp returns what a group would see now and has not seen.
func (g *modelGroup) missedWakeUp(s *Server) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := s.Observe(g.query())
	if g.folder.IsZero() && g.saw.Folder.Ref.IsZero() {
		now.Folder = g.saw.Folder // a group without a folder asks for one when it needs it
	}
	if reflect.DeepEqual(now, g.saw) {
		return nil
	}
	return []string{fmt.Sprintf("group %s was not notified: it saw %+v, and would see %+v", g.id.Group, g.saw, now)}
}
