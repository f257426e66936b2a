package govmomi

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
)

const (
	// maxWaitSeconds is the time for which vCenter holds a call without updates. It also keeps the session from becoming idle.
	maxWaitSeconds = 60
	// waitSlack is the additional time for the answer.
	waitSlack = 30 * time.Second
	// maxObjectUpdates limits one page of updates.
	maxObjectUpdates = 500
	// gather is the pause after an answer with updates, so that several close updates come in one answer.
	gather = 50 * time.Millisecond
	// reopenings is the number of consecutive reopenings of a stream (2.35 s) before the whole connection is reopened. If a third of all calls fail, more than
	// half of the streams break before their first listing is complete. The pause before a reopening doubles from gather to reopenLast.
	reopenings = 8
	reopenLast = 400 * time.Millisecond
	// listEvery is the minimum time between requested listings.
	listEvery = time.Second
)

// watchFeed keeps one property-collector stream open, on its own collector: a wait on the session's default collector would block every other read of it.
type watchFeed struct {
	source
	collector vsphere.Ref
	version   string
	// shown is the state that the stream has shown.
	shown *inventory.Shown
	// began is the moment before the filter was created.
	began inventory.Moment
	// filling is the context of the calls that read the first answer, a full listing in pages.
	filling context.Context //nolint:containedctx // it is that of the stream
}

// brokenStream is the error of a call that the session does not repeat, because the lost answer cannot be requested again.
type brokenStream struct{ error }

func (b brokenStream) Unwrap() error { return b.error }

// streamError translates the error of such a call.
func streamError(op string, err error) error {
	if session.Passing(err) {
		return brokenStream{translate(op, err)}
	}
	return translate(op, err)
}

// Run keeps a stream open. A broken stream has lost updates, so the next one begins with a full listing. Meanwhile the known state is trusted, as between two
// listings of mode Poll.
func (f *watchFeed) Run(ctx context.Context) error {
	for failed := 0; ; failed++ {
		filled, err := f.stream(ctx)
		if filled {
			failed = 0
		}
		if _, broke := errors.AsType[brokenStream](err); !broke || failed == reopenings || !sleep(ctx, min(gather<<failed, reopenLast)) {
			return err
		}
	}
}

// stream watches until an error occurs. It reports whether a full listing was applied.
func (f *watchFeed) stream(ctx context.Context) (filled bool, err error) {
	defer f.close(context.WithoutCancel(ctx))
	if err := f.open(ctx); err != nil {
		return false, err
	}
	g, ctx := errgroup.WithContext(ctx)
	f.filling = session.OneListing(ctx)
	g.Go(func() error {
		for {
			if err := f.next(ctx); err != nil {
				return err
			}
		}
	})
	g.Go(func() error { return f.resyncs(ctx) })
	g.Go(func() error { return f.compares(ctx, f.shown) })
	err = g.Wait()
	return f.shown.Complete(), err
}

// resyncs reads full listings beside the stream: every ResyncInterval, and soon after a request for the proof that nothing is missing.
func (f *watchFeed) resyncs(ctx context.Context) error {
	for {
		timer := time.NewTimer(f.server.cfg.ResyncInterval)
		select {
		case <-ctx.Done():
		case <-f.server.listKick:
		case <-timer.C:
		}
		timer.Stop()
		if !sleep(ctx, min(listEvery, f.server.cfg.ResyncInterval)) {
			return ctx.Err()
		}
		if err := f.resync(ctx); err != nil {
			return err
		}
	}
}

// open creates a view, a collector and a filter. They belong to this stream only and end with the session.
func (f *watchFeed) open(ctx context.Context) error {
	const op = "watch the inventory"
	if err := f.openView(ctx); err != nil {
		return err
	}
	c := f.conn.client
	created, err := methods.CreatePropertyCollector(ctx, c, &types.CreatePropertyCollector{This: c.ServiceContent.PropertyCollector})
	if err != nil {
		return translate(op, err)
	}
	f.collector = fromRef(created.Returnval)
	f.began, f.shown, f.version = f.server.index.Begin(), inventory.NewShown(), ""
	_, err = methods.CreateFilter(ctx, c, &types.CreateFilter{
		This: created.Returnval, Spec: viewSpec(f.view, listingSpec()), PartialUpdates: false,
	})
	return streamError(op, err)
}

// close frees the server's resources for the watch. It does not wait for a server that does not answer.
func (f *watchFeed) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if !f.collector.IsZero() {
		_, _ = methods.DestroyPropertyCollector(ctx, f.conn.client, &types.DestroyPropertyCollector{This: toRef(f.collector)})
	}
	if !f.view.IsZero() {
		destroyView(ctx, f.conn.client, f.view)
	}
	f.collector, f.view = vsphere.Ref{}, vsphere.Ref{}
}

// resync checks the watch against a full listing, read through a new view.
func (f *watchFeed) resync(ctx context.Context) error {
	began := f.server.index.Begin()
	f.server.takeViewStale()
	view, err := createView(ctx, f.conn.client, f.conn.root.Ref, vsphere.TypeVirtualMachine, vsphere.TypeFolder)
	if err != nil {
		return translate("list folder "+f.conn.root.Path, err)
	}
	defer destroyView(ctx, f.conn.client, view)
	vms, folders, err := f.reader.list(ctx, view)
	if err != nil {
		return translate("list folder "+f.conn.root.Path, err)
	}
	f.apply(began, vms, folders)
	return nil
}

// next waits for one answer and applies it.
func (f *watchFeed) next(ctx context.Context) error {
	const op = "wait for inventory updates"
	callCtx, began := ctx, f.server.index.Begin()
	if !f.shown.Complete() {
		callCtx = f.filling
	}
	callCtx, cancel := context.WithTimeout(callCtx, maxWaitSeconds*time.Second+waitSlack)
	defer cancel()
	resp, err := methods.WaitForUpdatesEx(callCtx, f.conn.client, &types.WaitForUpdatesEx{
		This: toRef(f.collector), Version: f.version,
		Options: &types.WaitOptions{MaxWaitSeconds: types.NewInt32(maxWaitSeconds), MaxObjectUpdates: maxObjectUpdates},
	})
	if err != nil {
		return streamError(op, err)
	}
	set := resp.Returnval
	if set == nil {
		return nil
	}
	f.version = set.Version
	var updates []types.ObjectUpdate
	for _, filter := range set.FilterSet {
		updates = append(updates, filter.ObjectSet...)
	}
	if !f.shown.Complete() {
		return f.fill(ctx, updates, set.Truncated != nil && *set.Truncated)
	}
	if err := f.news(ctx, began, updates); err != nil {
		return err
	}
	if !sleep(ctx, gather) {
		return ctx.Err()
	}
	return nil
}

// fill collects the first answer, which is a full listing in pages. An object can leave between two pages. A read in progress can still show that object, or a
// call of ours can have created it. No later answer reports that the object left.
func (f *watchFeed) fill(ctx context.Context, updates []types.ObjectUpdate, more bool) error {
	var left []vsphere.Ref
	for _, u := range updates {
		if f.show(u); u.Kind == types.ObjectUpdateKindLeave {
			left = append(left, fromRef(u.Obj))
		}
	}
	f.server.index.Left(left...)
	if more {
		return nil
	}
	vms, folders := f.shown.All()
	seen, err := f.reader.listing(ctx, vms, folders)
	if err != nil {
		return translate("list folder "+f.conn.root.Path, err)
	}
	f.shown.Completed()
	f.server.index.ApplyStream(f.began, seen, folders)
	f.followed()
	return nil
}

// show records an update, and reports whether it contains all changes of a VM's base properties.
func (f *watchFeed) show(u types.ObjectUpdate) bool {
	ref := fromRef(u.Obj)
	if u.Kind == types.ObjectUpdateKindLeave {
		f.shown.Drop(ref)
		return false
	}
	o := object{ref: ref, values: make(map[string]any, len(u.ChangeSet))}
	for _, change := range u.ChangeSet {
		o.values[change.Name] = change.Val
	}
	if ref.Type == vsphere.TypeFolder {
		folder := f.shown.Folder(ref)
		if o.has(propName) {
			folder.Name = shortened(o.text(propName))
		}
		if o.has(propParent) {
			folder.Parent = o.refOf(propParent)
		}
		f.shown.PutFolder(folder)
		return false
	}
	vm, known := f.shown.VM(ref), u.Kind == types.ObjectUpdateKindModify
	for name := range o.values {
		known = setBase(&vm, name, o) && known
	}
	f.shown.PutVM(vm)
	return known
}

// news applies the updates of a later answer to a call that began at a moment, in their order. It applies changes of base properties directly, and reads all
// other objects whole.
func (f *watchFeed) news(ctx context.Context, began inventory.Moment, updates []types.ObjectUpdate) error {
	var left, changed, reread []vsphere.Ref
	whole := map[vsphere.Ref]bool{}
	for _, u := range updates {
		ref := fromRef(u.Obj)
		told := f.show(u)
		if u.Kind == types.ObjectUpdateKindLeave {
			left = append(left, ref)
			delete(whole, ref)
			continue
		}
		if before, twice := whole[ref]; twice {
			told = told && before
		} else {
			changed = append(changed, ref)
		}
		whole[ref] = told
	}
	var vms []vsphere.VM
	for _, ref := range changed {
		switch told, ok := whole[ref]; {
		case told:
			vms = append(vms, f.shown.VM(ref))
		case ok:
			reread = append(reread, ref)
		}
		delete(whole, ref)
	}
	f.server.index.Left(left...)
	half, reread := f.making(append(reread, f.server.index.Show(vms)...))
	if len(half) > 0 {
		f.server.index.Upsert(began, half, nil)
	}
	var made []vsphere.Ref
	reread = slices.DeleteFunc(reread, func(ref vsphere.Ref) bool {
		if ref.Type != vsphere.TypeVirtualMachine || !f.server.ops.Makes(f.shown.VM(ref).Name) {
			return false
		}
		made = append(made, ref)
		return true
	})
	if err := f.server.reread(ctx, f.reader, reread); err != nil {
		return translate("read changed VMs", err)
	}
	f.server.readAgain(made...) // in the same call as the tasks of their clones
	f.server.landings()
	f.server.applied()
	return nil
}

// making selects the VMs that clones of this process are creating, as far as the stream shows them in a known folder. It returns the others for a read.
func (f *watchFeed) making(refs []vsphere.Ref) (half []inventory.Seen, reread []vsphere.Ref) {
	for _, ref := range refs {
		vm := f.shown.VM(ref)
		if _, known := f.server.index.Folder(vm.Folder); ref.Type == vsphere.TypeVirtualMachine && known && f.reader.making(&vm) {
			half = append(half, inventory.Seen{VM: vm, Unread: true})
		} else {
			reread = append(reread, ref)
		}
	}
	return half, reread
}
