package fake

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// health is the state of the connection.
type health struct {
	err           error
	since         time.Time
	incomplete    string
	suddenlyEmpty bool
	predecessor   string
	missing       []string
}

const suddenlyEmpty = "the root folder held VMs and reads empty now"

// complete reports whether an unobserved object can be taken as absent, and the reason if not.
func (s *Server) complete() (bool, string) {
	switch {
	case s.err != nil:
		return false, "vCenter is not reachable: " + s.err.Error()
	case s.suddenlyEmpty:
		return false, suddenlyEmpty
	}
	return s.incomplete == "", s.incomplete
}

// Health returns the state of the connection.
func (s *Server) Health() vsphere.Health {
	running := s.budget.Running()
	s.mu.Lock()
	defer s.unlock()
	stamped := 0
	for _, vm := range s.vms {
		if vm.Stamp != nil {
			stamped++
		}
	}
	complete, why := s.complete()
	return vsphere.Health{
		Reachable: s.err == nil, Err: s.err, Since: s.since, Version: "8.0.3", InstanceUUID: s.opt.InstanceUUID,
		Complete: complete, Incomplete: why, SuddenlyEmpty: s.suddenlyEmpty, Predecessor: s.predecessor, MissingPrivileges: s.missing,
		Templates: len(s.templates), VMs: stamped, RunningTasks: running,
	}
}

// Observe returns the known state of one group: see vsphere.Server.
func (s *Server) Observe(q vsphere.Query) vsphere.Observation {
	s.mu.Lock()
	defer s.unlock()
	s.asksFor(q)
	o := vsphere.Observation{InstanceUUID: s.opt.InstanceUUID, Lacks: slices.Clone(s.missing)}
	o.Complete, o.Incomplete = s.complete()
	if why := s.left.awaits(q); o.Complete && why != "" {
		o.Complete, o.Incomplete = false, why
	}
	s.observeVMs(q, &o)
	s.observeGuests(q, &o)
	s.observeKnown(q, &o)
	s.observeFolder(q, &o)
	for _, t := range s.tasks {
		if t.Group == q.ID.Key() {
			o.InFlight = append(o.InFlight, t.Operation)
		}
	}
	slices.SortFunc(o.InFlight, func(a, b vsphere.Operation) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	o.Failures = s.failures.Of(q.ID.Key())
	return o
}

// asksFor remembers the group that asked for a folder.
func (s *Server) asksFor(q vsphere.Query) {
	if q.Folder.IsZero() {
		return
	}
	if s.owners[q.Folder] == nil {
		s.owners[q.Folder] = map[vsphere.GroupKey]bool{}
	}
	s.owners[q.Folder][q.ID.Key()] = true
}

// observeVMs adds the VMs below the root: the group's, those in its folder, and those that it released.
func (s *Server) observeVMs(q vsphere.Query, o *vsphere.Observation) {
	for _, vm := range s.vms {
		ours, known := vm.Stamp != nil && vm.Stamp.SameGroup(q.ID), slices.Contains(q.Known, vm.Ref)
		if ours && !known && s.hidden[vm.Ref] {
			o.Complete, o.Incomplete = false, "VM "+vm.Name+" is missing from vCenter's inventory and is being looked up"
		}
		if s.unreadVMs[vm.Ref] {
			s.observeUnread(vm, q, o)
			continue
		}
		if vm.Stamp == nil && vm.Released != nil && vm.Released.SameGroup(q.ID) && s.below(vm.Folder) {
			o.Released = append(o.Released, clone(vm))
		}
		if s.below(vm.Folder) && !s.hidden[vm.Ref] && (ours || known || !q.Folder.IsZero() && vm.Folder == q.Folder) {
			o.VMs = append(o.VMs, shown(vm))
		}
	}
	for _, vms := range [][]vsphere.VM{o.VMs, o.Released} {
		slices.SortFunc(vms, func(a, b vsphere.VM) int { return compareRefs(a.Ref, b.Ref) })
	}
}

// observeUnread adds a VM whose configuration is not shown.
func (s *Server) observeUnread(vm *vsphere.VM, q vsphere.Query, o *vsphere.Observation) {
	switch {
	case slices.Contains(q.Known, vm.Ref):
		o.Complete, o.Incomplete = false, "vCenter does not show the configuration of VM "+vm.Name
	case !q.Folder.IsZero() && vm.Folder == q.Folder:
		o.Unread = append(o.Unread, vsphere.VM{Ref: vm.Ref, Name: vm.Name, Folder: vm.Folder, Power: vm.Power})
	}
}

// observeKnown adds the state of known VMs that are not below the root.
func (s *Server) observeKnown(q vsphere.Query, o *vsphere.Observation) {
	for _, ref := range q.Known {
		vm, exists := s.vms[ref]
		switch {
		case exists && !s.below(vm.Folder) && (vm.Stamp == nil || !vm.Stamp.SameGroup(q.ID)):
			o.Others = append(o.Others, ref)
		case exists && !s.below(vm.Folder):
			s.elsewhere(ref, vm, o)
		case !exists && s.isConfirmed(ref, q.ID.Key()):
			if vm := s.byUUID(q.UUIDs[ref]); vm != nil && !s.below(vm.Folder) && vm.Stamp != nil && vm.Stamp.SameGroup(q.ID) {
				s.elsewhere(ref, vm, o)
			} else {
				o.Gone = append(o.Gone, ref)
			}
		}
	}
}

// elsewhere adds a known VM outside of the root.
func (s *Server) elsewhere(known vsphere.Ref, vm *vsphere.VM, o *vsphere.Observation) {
	o.Elsewhere = append(o.Elsewhere, known)
	if o.Found == nil {
		o.Found = map[vsphere.Ref]vsphere.Found{}
	}
	o.Found[known] = vsphere.Found{Ref: vm.Ref, Path: Outside + "/" + vm.Name}
}

// byUUID returns the VM with an instance UUID, or nil. Instance UUIDs are unique.
func (s *Server) byUUID(uuid string) *vsphere.VM {
	for _, vm := range s.vms {
		if uuid != "" && strings.EqualFold(vm.InstanceUUID, uuid) {
			return vm
		}
	}
	return nil
}

// at returns the folder at a path below the root, or the zero Ref.
func (s *Server) at(path vsphere.FolderPath) vsphere.Ref {
	at := s.root
	for _, part := range []string{path.Member, path.Namespace, path.Leaf} {
		next, ok := s.taken(at, part)
		if !ok || next.Type != vsphere.TypeFolder {
			return vsphere.Ref{}
		}
		at = next
	}
	return at
}

// placed adds the folder's Place.
func (s *Server) placed(f vsphere.Folder) vsphere.Folder {
	if f.Ref == s.root {
		return f
	}
	f.Place.Leaf = f.Name
	namespace := s.folders[f.Parent]
	if namespace == nil || f.Parent == s.root {
		return f
	}
	f.Place.Namespace = namespace.Name
	if member := s.folders[namespace.Parent]; member != nil && namespace.Parent != s.root {
		f.Place.Member = member.Name
	}
	return f
}

func (s *Server) observeFolder(q vsphere.Query, o *vsphere.Observation) {
	if q.Folder.IsZero() {
		q.Folder = s.at(q.Path)
	}
	switch folder, exists := s.folders[q.Folder]; {
	case q.Folder.IsZero():
	case !exists:
		o.FolderGone = s.isConfirmed(q.Folder, q.ID.Key())
	case s.below(q.Folder):
		o.Folder = s.placed(*folder)
	default:
		o.FolderElsewhere, o.Folder = true, vsphere.Folder{Ref: folder.Ref, Name: folder.Name}
	}
}

// Demand returns the number of slots that groups have or wait for, for assertions.
func (s *Server) Demand() int { return s.budget.Demand() }

// VM returns a VM by name or reference, below the root or not, for assertions.
func (s *Server) VM(name string) (vsphere.VM, bool) {
	s.mu.Lock()
	defer s.unlock()
	found := s.find(name)
	if len(found) != 1 {
		return vsphere.VM{}, false
	}
	return clone(found[0]), true
}

// VMs returns all VMs in the order of creation, for assertions.
func (s *Server) VMs() []vsphere.VM {
	s.mu.Lock()
	defer s.unlock()
	all := make([]vsphere.VM, 0, len(s.vms))
	for _, ref := range inOrder(s.vms) {
		all = append(all, clone(s.vms[ref]))
	}
	return all
}

// inOrder returns the references in the order of creation, independent of the map's order.
func inOrder[T any](m map[vsphere.Ref]T) []vsphere.Ref {
	return slices.SortedFunc(maps.Keys(m), func(a, b vsphere.Ref) int {
		return cmp.Or(cmp.Compare(len(a.Value), len(b.Value)), compareRefs(a, b))
	})
}

// find returns the VMs with a name, or the one with a reference's value.
func (s *Server) find(name string) []*vsphere.VM {
	if vm, ok := s.vms[vsphere.VMRef(name)]; ok {
		return []*vsphere.VM{vm}
	}
	var found []*vsphere.VM
	for _, vm := range s.vms {
		if vm.Name == name {
			found = append(found, vm)
		}
	}
	return found
}

// isConfirmed reports whether vCenter confirmed that an object does not exist. If it was not asked before, it is asked
// now.
func (s *Server) isConfirmed(ref vsphere.Ref, group vsphere.GroupKey) bool {
	if s.delayConfirmations && !s.confirmed[ref] {
		s.suspects[ref] = group
		return false
	}
	return true
}

func clone(vm *vsphere.VM) vsphere.VM {
	c := *vm
	if vm.Stamp != nil {
		c.Stamp = new(*vm.Stamp)
	}
	if vm.Released != nil {
		c.Released = new(*vm.Released)
	}
	return c
}

// shown returns the observed form of a VM: beside a stamp, a release mark does not count.
func shown(vm *vsphere.VM) vsphere.VM {
	c := clone(vm)
	if c.Stamp != nil {
		c.Released = nil
	}
	return c
}

func compareRefs(a, b vsphere.Ref) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value))
}
