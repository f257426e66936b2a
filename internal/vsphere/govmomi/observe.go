package govmomi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

// Observe returns the known state of one group, from memory: see vsphere.Server.
func (s *Server) Observe(q vsphere.Query) vsphere.Observation {
	// Operations in flight are read first: an effect that becomes visible in between shows twice instead of not at all.
	group := q.ID.Key()
	s.ops.Claimed(group, q.Known)
	inFlight := s.ops.InFlight(group)
	cloning := s.ops.Cloning(group)
	complete, why := s.complete()
	if complete {
		complete, why = s.settledFor(q)
	}
	g := s.index.Group(q)
	s.unseek(g.Dropped)
	var stale []vsphere.Ref
	if complete {
		s.claim(group, g.Ask, q.UUIDs)
		s.seek(group.Member(), g.Ask)
		s.askAgain(q, g)
		stale = s.stale(q, g.Searched)
	}
	if s.index.SuddenlyEmpty() {
		s.missed(g.Ask)
	}
	if s.guests.observe(s.cfg.Now(), q, g.VMs) {
		kick(s.guestKick)
	}
	half, reading := s.takeHalfMade(q, &g, cloning)
	known, unknown := unread(g, q.Known)
	if complete && reading != "" {
		complete, why = false, reading
	}
	if complete {
		complete, why = conclusive(g, known, q.Folder)
	}
	return vsphere.Observation{
		Complete: complete, Incomplete: why, InstanceUUID: s.instanceUUID(),
		VMs: g.VMs, Released: g.Released, Unread: unknown, HalfMade: half, Gone: g.Gone, Stale: stale, Elsewhere: g.Elsewhere, Found: g.Found, Others: g.Others, Folder: g.Folder, FolderGone: g.FolderGone, FolderElsewhere: g.FolderElsewhere,
		InFlight: inFlight, Failures: s.ops.Failures(group), Lacks: s.lacks(),
	}
}

// lacks returns the privileges to change VMs that the account lacks.
func (s *Server) lacks() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.privileges.lacks
}

// instanceUUID returns the UUID of the server of the last login. Observe calls it last, so that it is never older than the rest of the
// observation.
func (s *Server) instanceUUID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.instanceUUID
}

// conclusive reports whether VMs that are not shown can be taken as absent. unread are known VMs without configuration. Users with write access
// to status can make any VM a known one, so conclusive names only VMs in the group's folder.
func conclusive(g inventory.Group, unread []vsphere.VM, folder vsphere.Ref) (bool, string) {
	for _, vm := range g.Suspects {
		return false, fmt.Sprintf("VM %s (%s) is missing from vCenter's inventory and is being looked up", untrusted.Name(vm.Name), vm.Ref)
	}
	if len(unread) > 0 {
		vm := unread[0]
		name := vm.Ref.String()
		if vm.Folder == folder {
			name = fmt.Sprintf("VM %s (%s)", untrusted.Name(vm.Name), vm.Ref)
		}
		if vm.Connection == "" || vm.Connected() {
			return false, fmt.Sprintf("vCenter does not show the configuration of %s; check the state of its host", name)
		}
		return false, fmt.Sprintf("vCenter does not show the configuration of %s, since %s; ask a hub administrator to %s", name, vm.Connection.Problem(), vm.Connection.WayOut())
	}
	return true, ""
}

// unread splits the VMs whose configuration vCenter does not show: those that the group knows, and others in its folder.
func unread(g inventory.Group, recorded []vsphere.Ref) (known, unknown []vsphere.VM) {
	for _, vm := range g.Unread {
		if slices.Contains(recorded, vm.Ref) {
			known = append(known, vm)
		} else {
			unknown = append(unknown, vm)
		}
	}
	return known, unknown
}

// askAgain periodically starts another look-up of known objects outside of the root folder: vCenter reports neither their return nor their
// deletion.
func (s *Server) askAgain(q vsphere.Query, g inventory.Group) {
	refs := slices.Concat(g.Elsewhere, g.Others)
	s.claim(q.ID.Key(), refs, q.UUIDs)
	if g.FolderElsewhere {
		refs = append(refs, q.Folder)
	}
	s.seek(q.ID.Member, s.outside(refs))
}

// outside returns those of the objects outside of the root folder whose next look-up is due, and notes the look-up.
func (s *Server) outside(refs []vsphere.Ref) []vsphere.Ref {
	if len(refs) == 0 {
		return nil
	}
	now := s.cfg.Now()
	s.mu.Lock()
	refs = slices.DeleteFunc(slices.Clone(refs), func(ref vsphere.Ref) bool { return s.looked.lately(ref, now) })
	for _, ref := range refs {
		s.looked.note(ref, now)
	}
	s.mu.Unlock()
	return refs
}

// seek starts the look-up of objects without a verdict that a group of a member knows.
func (s *Server) seek(member string, refs []vsphere.Ref) {
	if len(refs) == 0 {
		return
	}
	s.mu.Lock()
	for _, ref := range refs {
		if _, is := s.sought[ref]; !is {
			s.sought[ref] = member
		}
	}
	s.mu.Unlock()
	kick(s.confirmKick)
}

// unseek stops the look-up of objects that no group knows any more.
func (s *Server) unseek(refs []vsphere.Ref) {
	if len(refs) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ref := range refs {
		delete(s.sought, ref)
		delete(s.uuids, ref)
	}
}

// ask starts the look-up of objects without a verdict.
func (s *Server) ask(refs []vsphere.Ref) {
	if len(refs) == 0 {
		return
	}
	s.mu.Lock()
	for _, ref := range refs {
		s.asked[ref] = struct{}{}
	}
	s.mu.Unlock()
	kick(s.confirmKick)
}

// settle removes operations whose effect the inventory shows. It is called after every application. The index itself reports when it becomes
// complete. settle detects changes that depend on a predecessor's clones.
func (s *Server) settle() {
	s.ops.Settle(uint64(s.index.Applied()), s.look)
	s.tellWaiting()
	complete, _ := s.complete()
	s.mu.Lock()
	changed := complete != s.wasComplete
	s.wasComplete = complete
	s.mu.Unlock()
	if changed {
		s.serverChanged()
	}
}

// look returns what the inventory shows of an operation's effect.
func (s *Server) look(e operations.Effect) operations.Sight {
	switch {
	case e.Kind == vsphere.OpClone && !e.VM.IsZero():
		return s.cloned(e)
	case e.Kind == vsphere.OpClone && s.stamped(e), e.Kind != vsphere.OpClone && s.visible(e):
		return operations.Seen
	}
	return operations.Unseen
}

// visible reports whether the inventory shows the effect of an operation on a VM.
func (s *Server) visible(e operations.Effect) bool {
	vm, state := s.index.VM(e.VM)
	if state == inventory.Gone {
		return true
	}
	if state != inventory.Present {
		return false
	}
	switch e.Kind {
	case vsphere.OpPowerOn:
		return vm.Power == vsphere.PoweredOn
	case vsphere.OpPowerOff, vsphere.OpShutdownGuest:
		return vm.Power == vsphere.PoweredOff
	case vsphere.OpReconfigure:
		want := vsphere.Reconfiguration{Revision: e.Stamp.Revision, CPU: e.CPU, CoresPerSocket: e.CoresPerSocket, MemoryMiB: e.MemoryMiB}
		return want.Done(vm) && (e.ChangeVersion == "" || vm.ChangeVersion != e.ChangeVersion)
	case vsphere.OpIdentify:
		return !vm.DataDisks.Unidentified()
	case vsphere.OpMark:
		return vm.Tombstone
	case vsphere.OpRelease:
		return vm.Stamp == nil
	case vsphere.OpClaim:
		return vm.Released != nil && vm.Released.Group == e.Mark.Group
	case vsphere.OpMove:
		return vm.Folder == e.Folder
	case vsphere.OpRename:
		return vm.Name == e.Name
	case vsphere.OpAdopt:
		return vm.Stamp != nil && vm.Stamp.GroupID == e.Stamp.GroupID && vm.Stamp.Ordinal == e.Ordinal
	case vsphere.OpRestamp:
		return vm.Stamp != nil && vm.Stamp.Installation == e.Stamp.Installation
	}
	return false
}

// cloned returns the state of the VM that a clone's task named. If vCenter reassigned the VM's instance UUID, the group can recognize the VM only
// by the operation, which therefore stays in flight.
func (s *Server) cloned(e operations.Effect) operations.Sight {
	vm, state := s.index.VM(e.VM)
	switch state {
	case inventory.Gone:
		return operations.Seen
	case inventory.Elsewhere:
		return operations.Astray
	case inventory.Present:
		unread := vm.ChangeVersion == "" || vm.Stamp == nil // a clone writes the stamp last
		reassigned := !e.Found && vm.Stamp != nil && e.UUID != "" && !strings.EqualFold(vm.InstanceUUID, e.UUID)
		if !unread && !reassigned {
			return operations.Seen
		}
	}
	return operations.Held
}

// stamped reports whether a VM with the clone's stamp exists.
func (s *Server) stamped(e operations.Effect) bool {
	g := s.index.Group(vsphere.Query{ID: e.Stamp.GroupID})
	for _, vm := range g.VMs {
		if t := vm.Stamp; t != nil && t.Ordinal == e.Ordinal && t.Incarnation == e.Stamp.Incarnation &&
			t.Created.Unix() == e.Stamp.Created.Unix() {
			return true
		}
	}
	return false
}
