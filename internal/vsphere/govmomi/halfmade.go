package govmomi

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

// readingTasks is the reason for an incomplete observation while this process has not yet checked a VM without a stamp.
const readingTasks = "vCenter's tasks are being read, for a VM in the group's folder that a clone may still be making"

// makings are the VMs in groups' folders without a stamp: vCenter can show a VM before its clone has ended, and a clone
// writes the stamp last. The zero value is ready to use.
type makings struct {
	mu  sync.Mutex
	vms map[vsphere.Ref]*making
	// read is the time of the last read of vCenter's tasks.
	read time.Time
}

// making is the known state of one such VM.
type making struct {
	// groups have this VM in their folder, and are notified of its result.
	groups map[vsphere.GroupKey]struct{}
	// since is the time when this process first saw the VM.
	since time.Time
	// known is true after a read of vCenter's tasks. clones are the clones that can be creating the VM.
	known  bool
	clones []operations.Untracked
}

// final reports whether no clone creates the VM. No later clone can.
func (m *making) final() bool { return m.known && len(m.clones) == 0 }

// of returns the clones that can be creating a VM in a group's folder. known is false until vCenter's tasks are read
// for this VM.
func (m *makings) of(vm vsphere.Ref, group vsphere.GroupKey, now time.Time) (clones []operations.Untracked, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	entry := m.vms[vm]
	if entry == nil {
		if m.vms == nil {
			m.vms = map[vsphere.Ref]*making{}
		}
		entry = &making{groups: map[vsphere.GroupKey]struct{}{}, since: now}
		m.vms[vm] = entry
	}
	entry.groups[group] = struct{}{}
	return slices.Clone(entry.clones), entry.known
}

// due returns the time until the next read of vCenter's tasks, or false if no VM needs one. expected is the usual
// duration of a clone.
func (m *makings) due(now time.Time, expected time.Duration) (in time.Duration, waits bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, entry := range m.vms {
		if entry.final() {
			continue
		}
		left := time.Duration(0)
		if entry.known {
			left = max(0, m.read.Add(pause(m.read.Sub(entry.since), expected, lookMargin)).Sub(now))
		}
		if !waits || left < in {
			in, waits = left, true
		}
	}
	return in, waits
}

// open returns the VMs that a clone can be creating, and forgets VMs that are no longer present.
func (m *makings) open(present func(vsphere.Ref) bool) []vsphere.Ref {
	m.mu.Lock()
	defer m.mu.Unlock()
	var refs []vsphere.Ref
	for ref, entry := range m.vms {
		switch {
		case !present(ref):
			delete(m.vms, ref)
		case !entry.final():
			refs = append(refs, ref)
		}
	}
	return refs
}

// learn stores which clones can be creating which VM, from a read of vCenter's tasks. It returns the groups for which
// the result is new.
func (m *makings) learn(now time.Time, clones map[vsphere.Ref][]operations.Untracked) []vsphere.GroupKey {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read = now
	told := map[vsphere.GroupKey]struct{}{}
	for ref, running := range clones {
		entry := m.vms[ref]
		if entry == nil {
			continue
		}
		if !entry.known || len(running) != len(entry.clones) {
			maps.Copy(told, entry.groups)
		}
		entry.known, entry.clones = true, running
	}
	return slices.Collect(maps.Keys(told))
}

// reset drops everything: references belong to a connection.
func (m *makings) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.vms)
}

// forget drops VMs that are complete or deleted.
func (m *makings) forget(refs ...vsphere.Ref) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, ref := range refs {
		delete(m.vms, ref)
	}
}

// takeHalfMade removes the VMs that a running clone can be creating from the group's inventory. It returns those whose
// clone this process did not start: the operations themselves show the others. why is the reason to wait for more
// knowledge, or "".
func (s *Server) takeHalfMade(q vsphere.Query, g *inventory.Group, cloning map[string]bool) (half []vsphere.HalfMade, why string) {
	templates := s.cat.refs(q.Templates)
	isHalf := func(vm vsphere.VM) bool {
		switch {
		case vm.Stamp != nil, vm.Released != nil:
			return false
		case cloning[vm.Name]:
			return true
		case q.Folder.IsZero(), vm.Folder != q.Folder, vm.Power == vsphere.PoweredOn, slices.Contains(q.Known, vm.Ref):
			return false
		}
		clones, known := s.makings.of(vm.Ref, q.ID.Key(), s.cfg.Now())
		if !known {
			why = readingTasks
			kick(s.taskKick)
			return true
		}
		clones = slices.DeleteFunc(clones, func(clone operations.Untracked) bool { return !clone.From(templates) })
		if len(clones) == 0 {
			return false
		}
		oldest := slices.MinFunc(clones, func(a, b operations.Untracked) int {
			return cmp.Or(since(a).Compare(since(b)), cmp.Compare(a.Ref, b.Ref))
		})
		half = append(half, vsphere.HalfMade{VM: vm, Task: oldest.Ref, Since: since(oldest)})
		return true
	}
	g.VMs, g.Unread = slices.DeleteFunc(g.VMs, isHalf), slices.DeleteFunc(g.Unread, isHalf)
	return half, why
}

// since returns the time when vCenter accepted a clone or, if unknown, when this process first saw it.
func since(clone operations.Untracked) time.Time {
	if clone.Queued.IsZero() {
		return clone.Since
	}
	return clone.Queued
}

// lookAtMakings reads vCenter's tasks if a group needs to know which clones run.
func (w *taskWatch) lookAtMakings(ctx context.Context) error {
	s, now := w.server, w.server.cfg.Now()
	in, waits := s.makings.due(now, s.took.expected(vsphere.OpClone))
	lingerIn, lingers := s.lingerers.due(now)
	if (!waits || in > 0) && (!lingers || lingerIn > 0) {
		return nil
	}
	at := uint64(s.index.Begin())
	tasks, err := s.untracked(ctx, w.conn)
	if err != nil {
		return err
	}
	clones := slices.DeleteFunc(tasks, func(task operations.Untracked) bool { return !task.Clone })
	if s.lingerers.learn(now, at, clones) {
		kick(s.listKick)
	}
	made, whole, err := w.made(ctx, clones)
	if err != nil {
		return err
	}
	if len(whole) > 0 {
		s.makings.forget(whole...)
		if err := s.reread(ctx, w.reader, whole); err != nil {
			return err
		}
	}
	for _, group := range s.makings.learn(now, made) {
		s.groupChanged(group)
	}
	return nil
}

// made reads the VMs that clones can be creating, after the tasks. If a VM shows no stamp now and no clone was creating
// it at that time, the VM has no stamp. made returns the possible clones of each VM, and the complete VMs. A VM is
// younger than its clone's task.
func (w *taskWatch) made(ctx context.Context, clones []operations.Untracked) (made map[vsphere.Ref][]operations.Untracked, whole []vsphere.Ref, err error) {
	s := w.server
	open := s.makings.open(func(ref vsphere.Ref) bool { _, state := s.index.VM(ref); return state == inventory.Present })
	if len(open) == 0 {
		return nil, nil, nil
	}
	objects, err := existing(ctx, w.conn.client, open, types.PropertySpec{Type: vsphere.TypeVirtualMachine, PathSet: append([]string{propCreateDate}, stampProperties...)})
	if err != nil {
		return nil, nil, err
	}
	made = map[vsphere.Ref][]operations.Untracked{}
	gone := map[vsphere.Ref]bool{}
	for _, ref := range open {
		gone[ref] = true
	}
	for _, o := range objects {
		delete(gone, o.ref)
		if values, err := stampValues(o); err == nil {
			if stamp, _ := inventory.DecodeStamp(values); stamp != nil || inventory.DecodeRelease(values) != nil {
				whole = append(whole, o.ref)
				continue
			}
		}
		created, _ := o.values[propCreateDate].(time.Time)
		made[o.ref] = slices.DeleteFunc(slices.Clone(clones), func(clone operations.Untracked) bool {
			return !created.IsZero() && clone.Queued.After(created.Add(createdRounded))
		})
	}
	s.makings.forget(slices.Collect(maps.Keys(gone))...)
	return made, whole, nil
}
