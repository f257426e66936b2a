package govmomi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

// inheritance holds the groups that wait for inherited clones: see operations.Inheritance.
type inheritance struct {
	// waiting are the groups to notify when fewer clones remain.
	waiting map[vsphere.GroupKey]struct{}
	// left is the number of remaining clones at the last notification.
	left int
}

func (s *Server) inheritedNow() operations.Inheritance {
	return s.ops.Inherited(uint64(s.index.Applied()))
}

// settledFor reports whether the inventory has the VMs of all clones that can be the group's and that were started before this process. If not, the group is
// notified when that can have changed.
func (s *Server) settledFor(q vsphere.Query) (bool, string) {
	if in := s.inheritedNow(); len(in.Running)+len(in.Ended) == 0 {
		return true, ""
	}
	// The entry is made before the second check, so that the group is notified of every later change.
	s.mu.Lock()
	s.inheritance.waiting[q.ID.Key()] = struct{}{}
	s.mu.Unlock()
	templates := s.cat.refs(q.Templates)
	concerned := func(all []operations.Untracked) []operations.Untracked {
		return slices.DeleteFunc(all, func(task operations.Untracked) bool { return !task.From(templates) || !task.After(q.Created) })
	}
	in := s.inheritedNow()
	running, ended := concerned(in.Running), concerned(in.Ended)
	switch {
	case len(running) > 0:
		return false, s.running(running)
	case len(ended) > 0:
		return false, "clones started before this process have ended and the inventory is being read again"
	}
	s.mu.Lock()
	delete(s.inheritance.waiting, q.ID.Key())
	s.mu.Unlock()
	return true, ""
}

// running describes the clones that the group waits for, and the end of the wait.
func (s *Server) running(tasks []operations.Untracked) string {
	last := slices.MaxFunc(tasks, func(a, b operations.Untracked) int { return a.Since.Compare(b.Since) })
	told := make([]string, 0, 3)
	for _, task := range tasks[:min(len(tasks), cap(told))] {
		since := "seen since " + clockTime(task.Since)
		if !task.Queued.IsZero() {
			since = "started " + clockTime(task.Queued)
		}
		told = append(told, fmt.Sprintf("%s of template %s (%s)", task.Ref, untrusted.Name(s.cat.pathOf(task.Entity)), since))
	}
	if more := len(tasks) - len(told); more > 0 {
		told = append(told, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("Clones started before this process are still running and may be of this group: %s. They are waited for until %s at the latest. "+
		"Wait, or, if one hangs, ask a hub administrator to cancel that task in vCenter", strings.Join(told, ", "), clockTime(last.Since.Add(operations.Patience)))
}

func clockTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// tellWaiting notifies the waiting groups when fewer clones remain.
func (s *Server) tellWaiting() {
	in := s.inheritedNow()
	left := 2*len(in.Running) + len(in.Ended) // a running clone has yet to end
	s.mu.Lock()
	var waiting map[vsphere.GroupKey]struct{}
	if left != s.inheritance.left {
		waiting = maps.Clone(s.inheritance.waiting)
		clear(s.inheritance.waiting)
	}
	s.inheritance.left = left
	s.mu.Unlock()
	for group := range waiting {
		s.groupChanged(group)
	}
}

// undecided turns a name conflict with an invisible object into a reason to wait: vCenter holds the name for a clone before it shows the VM. That clone can be
// this one, sent by another replica or with a lost reply. Another name would create a second VM. While vCenter shows such a clone running, the wait does not
// end.
func (s *Server) undecided(ctx context.Context, c *connection, op operations.Request, err error) error {
	holder := objectOf(err)
	if holder.IsZero() {
		holder.Value = op.Name // not every vCenter names the object that has the name
	}
	if op.Kind != vsphere.OpClone || vsphere.KindOf(err) != vsphere.KindNameTaken {
		return err
	}
	if s.shown(holder) {
		return s.halfMade(ctx, c, op, holder, err)
	}
	now, in := s.cfg.Now(), s.inheritedNow()
	until := s.unseen.until(holder, now)
	if !now.Before(until) {
		return s.stillCloned(ctx, c, op, until, err)
	}
	clone := "a clone started before"
	if tasks := slices.Concat(in.Running, in.Ended, in.Hanging); len(tasks) > 0 {
		clone += " (perhaps " + tasks[0].Ref + ")"
	}
	return &vsphere.Error{Kind: vsphere.KindBusy, Op: phrase(op), Object: objectOf(err), Err: fmt.Errorf(
		"the name is taken by something that is not in the inventory yet; it may be this VM, which %s makes. It is waited for until %s, and longer if vCenter shows such a clone running then; "+
			"if a clone hangs, ask a hub administrator to cancel its task in vCenter: %w", clone, clockTime(until), err)}
}

// halfMade returns err unless the VM with the name can be one that a clone is still creating: vCenter can show a VM before its stamp. Such a VM is younger than
// its clone's task, which still runs. Clones that began later than a foreign VM are not waited for.
func (s *Server) halfMade(ctx context.Context, c *connection, op operations.Request, holder vsphere.Ref, err error) error {
	if vm, _ := s.index.VM(holder); holder.Type != vsphere.TypeVirtualMachine || vm.Stamp != nil || vm.Released != nil {
		return err
	}
	o, readErr := exact(ctx, c.client, holder, propCreateDate)
	created, _ := o.values[propCreateDate].(time.Time)
	if readErr != nil || created.IsZero() {
		return err
	}
	return s.stillCloned(ctx, c, op, created.Add(createdRounded), err)
}

// createdRounded is the maximum rounding of a VM's creation date by vCenter.
const createdRounded = time.Second

// stillCloned returns err unless vCenter shows a running clone of the template that began before moment and thus can hold the name. If vCenter does not report
// its tasks, such a clone is possible.
func (s *Server) stillCloned(ctx context.Context, c *connection, op operations.Request, moment time.Time, err error) error {
	waits := func(why string) error {
		return &vsphere.Error{Kind: vsphere.KindBusy, Op: phrase(op), Object: objectOf(err), Err: fmt.Errorf(
			"the name is taken by something that is not in the inventory, and it may be this VM: %s: %w", why, err)}
	}
	tasks, readErr := s.untracked(ctx, c)
	if readErr != nil {
		return waits("vCenter's tasks could not be read (" + readErr.Error() + ")")
	}
	for _, task := range tasks {
		if task.Clone && task.From(map[vsphere.Ref]bool{op.Template: true}) && task.Queued.Before(moment) {
			return waits(fmt.Sprintf("its clone %s still runs, seen since %s, and is waited for. Ask a hub administrator to check that task, and to cancel it if it hangs", task.Ref, clockTime(task.Since)))
		}
	}
	return err
}

// shown reports whether the inventory shows an object.
func (s *Server) shown(ref vsphere.Ref) bool {
	if ref.Type == vsphere.TypeFolder {
		_, state := s.index.FolderState(ref)
		return state == inventory.Present
	}
	vm, state := s.index.VM(ref)
	return state == inventory.Present && vm.ChangeVersion != ""
}
