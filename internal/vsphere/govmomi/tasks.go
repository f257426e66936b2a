package govmomi

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

const (
	typeTask = "Task"

	taskState    = "info.state"
	taskErr      = "info.error"
	taskResult   = "info.result"
	taskQueued   = "info.queueTime"
	taskComplete = "info.completeTime"

	// idleSettle is the interval of checks of waiting operations without a change of the inventory.
	idleSettle = 5 * time.Second
)

// taskWatch reads all running tasks with one call, at the pace that the youngest of them needs.
type taskWatch struct {
	server *Server
	conn   *connection
	reader reader
	// polled is the time of each task's last read, and last the time of the last read of any.
	polled map[string]time.Time
	last   time.Time
}

func (s *Server) watchTasks(ctx context.Context, c *connection) error {
	w := &taskWatch{server: s, conn: c, reader: reader{client: c.client, index: s.index}, polled: map[string]time.Time{}}
	for {
		wait, ok := w.due()
		var timer <-chan time.Time
		if ok {
			timer = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.taskKick:
			// An operation was submitted or an object must be read again, so the next read can be due earlier.
			if wait, ok := w.due(); !ok || wait > 0 {
				continue
			}
		case <-timer:
		}
		if err := w.round(ctx); err != nil {
			return translate("read running tasks", err)
		}
	}
}

// due returns the time until the next read, or false if there is nothing to read.
func (w *taskWatch) due() (time.Duration, bool) {
	s := w.server
	next, found := time.Duration(0), false
	earlier := func(d time.Duration) {
		if !found || d < next {
			next, found = max(0, d), true
		}
	}
	now, margin := s.cfg.Now(), lookMargin
	if s.cfg.Mode == Watch {
		margin = lookMarginWatched
	}
	for _, t := range s.ops.Tasks() {
		last, ok := w.polled[t.Ref]
		if !ok {
			last = t.Since
		}
		earlier(last.Add(pause(last.Sub(t.Since), s.took.expected(t.Kind), margin)).Sub(now))
	}
	if needed, in := s.ops.NeedsScan(); needed {
		earlier(in)
	}
	if in, waits := s.makings.due(now, s.took.expected(vsphere.OpClone)); waits {
		earlier(in)
	}
	if in, waits := s.lingerers.due(now); waits {
		earlier(in)
	}
	s.mu.Lock()
	if len(s.refetch) > 0 {
		earlier(w.last.Add(lookTogether).Sub(now))
	}
	if s.landed {
		earlier(w.last.Add(lookFirst).Sub(now))
	}
	s.mu.Unlock()
	if s.ops.Settling() {
		earlier(idleSettle)
	}
	return next, found
}

func (w *taskWatch) round(ctx context.Context) error {
	s := w.server
	if needed, in := s.ops.NeedsScan(); needed && in == 0 {
		at := uint64(s.index.Begin())
		tasks, err := s.untracked(ctx, w.conn)
		if err != nil {
			return err
		}
		s.ops.Scanned(at, tasks)
	}
	if err := w.lookAtMakings(ctx); err != nil {
		return err
	}
	changed, err := w.poll(ctx)
	if err != nil {
		return err
	}
	if err := s.reread(ctx, w.reader, changed); err != nil {
		return err
	}
	s.applied()
	return nil
}

// poll reads all tasks, the VMs that they destroy and the objects that must be read again, with one call. It returns the VMs that ended tasks changed and that are
// not read yet. A VM gets verdict Gone if its destruction succeeded and it is not found: two independent confirmations by vCenter.
func (w *taskWatch) poll(ctx context.Context) (changed []vsphere.Ref, err error) {
	s := w.server
	s.mu.Lock()
	s.landed = false
	again := slices.Collect(maps.Keys(s.refetch))
	clear(s.refetch)
	s.mu.Unlock()
	tasks := s.ops.Tasks()
	slices.SortFunc(tasks, func(a, b operations.Task) int { return cmp.Compare(a.Ref, b.Ref) })
	refs := make([]vsphere.Ref, len(tasks))
	now := s.cfg.Now()
	polled := make(map[string]time.Time, len(tasks))
	// missing are the VMs that tasks destroy, without those that the answer contains.
	missing := map[vsphere.Ref]bool{}
	for i, t := range tasks {
		refs[i] = vsphere.Ref{Type: typeTask, Value: t.Ref}
		polled[t.Ref] = now
		if op, _ := s.ops.Of(t.Ref); op.Kind == vsphere.OpDestroy {
			missing[op.VM] = true
		}
	}
	w.polled, w.last = polled, now
	began := s.index.Begin()
	asked := slices.Concat(refs, again, slices.Collect(maps.Keys(missing)))
	objects, err := existing(ctx, w.conn.client, asked, append(wholeSpec(),
		types.PropertySpec{Type: typeTask, PathSet: []string{taskState, taskErr, taskResult, taskQueued, taskComplete}})...)
	if f, is := is[*types.ManagedObjectNotFound](err); is && slices.Contains(asked, fromRef(f.Obj)) { // it was deleted during the call
		s.readAgain(again...)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, ended := map[vsphere.Ref]bool{}, []object(nil)
	for _, o := range objects {
		found[o.ref] = true
		delete(missing, o.ref)
		if o.ref.Type == typeTask {
			ended = append(ended, o)
		}
	}
	// The VMs come first: a clone whose VM is known needs no other read.
	if err := s.read(began, again, objects); err != nil {
		return nil, err
	}
	for _, o := range ended {
		if o.denied[taskState] != nil {
			// The task's object was deleted. Without a permission on the root object, the account cannot see the result, so it is read from the inventory.
			s.ops.TaskLost(o.ref.Value, uint64(s.index.Begin()))
			continue
		}
		vm, gone := w.ended(ctx, o)
		switch {
		case vm.IsZero():
		case gone && missing[vm]:
			s.index.Confirm(began, vm, inventory.Gone)
		default:
			changed = append(changed, vm)
		}
	}
	for _, ref := range refs {
		if found[ref] {
			continue
		}
		if _, err := exact(ctx, w.conn.client, ref, taskState); notFound(err, ref) {
			s.ops.TaskLost(ref.Value, uint64(s.index.Begin()))
		} else if err != nil {
			return nil, err
		}
	}
	if len(again) > 0 {
		s.readClones(s.ops.Landed(s.look))
	}
	return changed, nil
}

// ended handles one task. It returns the VM to read, and whether the task destroyed it.
func (w *taskWatch) ended(ctx context.Context, o object) (vm vsphere.Ref, destroyed bool) {
	s, id := w.server, o.ref.Value
	op, mine := s.ops.Of(id)
	switch types.TaskInfoState(o.text(taskState)) {
	case types.TaskInfoStateSuccess:
		if p, is := placementOf(o); is {
			return w.placed(ctx, id, op, p)
		}
		vm = op.VM
		if op.Kind == vsphere.OpClone {
			vm = o.refOf(taskResult)
		}
		s.ops.Succeeded(id, vm, uint64(s.index.Begin()))
		if !mine {
			return vm, false
		}
		s.learn(op.Kind, took(o))
		if s.look(operations.Effect{Request: op, VM: vm}) == operations.Seen {
			return vsphere.Ref{}, false // the watch was faster: nothing is left to read
		}
		return vm, op.Kind == vsphere.OpDestroy
	case types.TaskInfoStateError:
		return w.failed(ctx, id, op, taskFault(o))
	}
	return vsphere.Ref{}, false
}

// took returns the duration of an ended task by the server's clock, including its time in the queue. If the server does not report it, took returns zero.
func took(o object) time.Duration {
	queued, _ := o.values[taskQueued].(time.Time)
	complete, _ := o.values[taskComplete].(time.Time)
	if queued.IsZero() || complete.IsZero() {
		return 0
	}
	return complete.Sub(queued)
}

func taskFault(o object) error {
	switch f := o.values[taskErr].(type) {
	case types.LocalizedMethodFault:
		return taskError{&f}
	case *types.LocalizedMethodFault:
		return taskError{f}
	}
	return taskError{&types.LocalizedMethodFault{LocalizedMessage: "the task failed without a reason"}}
}

// failed decides whether a failure is a real one: the wanted effect can exist already.
func (w *taskWatch) failed(ctx context.Context, id string, op operations.Request, cause error) (vsphere.Ref, bool) {
	s := w.server
	err := translateFor(op, cause)
	at := uint64(s.index.Begin())
	switch {
	case alreadyThere(op.Kind, cause):
		s.ops.Succeeded(id, vsphere.Ref{}, at)
		return op.VM, false
	case op.Kind == vsphere.OpDestroy && notFound(cause, op.VM):
		s.ops.Succeeded(id, vsphere.Ref{}, at)
		return op.VM, true
	case op.Kind == vsphere.OpClone && vsphere.KindOf(err) == vsphere.KindNameTaken:
		// The name is the lock: if the wanted VM has it, an earlier request succeeded.
		if ref, ok := w.ours(ctx, op, err); ok {
			s.ops.Found(id, ref, at)
			return ref, false
		}
	}
	s.lost(err)
	s.ops.TaskFailed(id, s.undecided(ctx, w.conn, op, err), at)
	return op.VM, false
}

// ours returns the VM that holds a clone's name, if it carries the stamp of the clone's group and ordinal.
func (w *taskWatch) ours(ctx context.Context, op operations.Request, err error) (vsphere.Ref, bool) {
	object := objectOf(err)
	if object.Type != vsphere.TypeVirtualMachine {
		return vsphere.Ref{}, false
	}
	objects, fetchErr := w.reader.fetch(ctx, []vsphere.Ref{object})
	if fetchErr != nil || len(objects) != 1 {
		return vsphere.Ref{}, false
	}
	values, err := stampValues(objects[0])
	if err != nil {
		return vsphere.Ref{}, false
	}
	stamp, tombstone := inventory.DecodeStamp(values)
	ok := stamp != nil && !tombstone && stamp.GroupID == op.Stamp.GroupID && stamp.Ordinal == op.Ordinal
	return object, ok
}

// landings ends the tasks whose effect the watch shows. Only the watch calls it, because a listing shows old effects again.
func (s *Server) landings() {
	landed := s.ops.Landed(s.look)
	for _, task := range landed {
		if task.Kind == vsphere.OpClone {
			continue
		}
		if s.cfg.Tasks != nil { // by our own clock, because the task is not read
			s.cfg.Tasks.Took(task.Kind, s.cfg.Now().Sub(task.Since))
		}
		s.ops.Succeeded(task.Ref, vsphere.Ref{}, uint64(s.index.Begin()))
	}
	s.readClones(landed)
}

// readClones requests a read of the tasks of clones whose VMs the inventory shows: a server can show a VM before its clone has ended.
func (s *Server) readClones(landed []operations.Task) {
	if !slices.ContainsFunc(landed, func(task operations.Task) bool { return task.Kind == vsphere.OpClone }) {
		return
	}
	s.mu.Lock()
	s.landed = true
	s.mu.Unlock()
	kick(s.taskKick)
}

// readAgain makes the task watcher read VMs and folders about which something was learned.
func (s *Server) readAgain(refs ...vsphere.Ref) {
	if len(refs) == 0 {
		return
	}
	s.mu.Lock()
	for _, ref := range refs {
		s.refetch[ref] = struct{}{}
	}
	s.mu.Unlock()
	kick(s.taskKick)
}
