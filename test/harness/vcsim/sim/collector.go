package sim

import (
	"context"
	"reflect"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// The simulator's own property filters deadlock. A collecting filter holds its lock while it waits for the lock of an object. A folder with
// a new child holds its lock while it notifies a container view, and with it the filter. They also collect everything once per change,
// which takes time quadratic in the number of VMs.
//
// The collector below replaces them. It collects once after a burst of changes, without its own lock, and reports the difference from its
// last report. Like vCenter, and unlike the simulator's own filters, it also reports changes of config.hardware and removals of objects
// from the view.

const (
	// settle is the time for which changes gather before the collection.
	settle = 20 * time.Millisecond
	// defaultPage is vCenter's default for WaitOptions.MaxObjectUpdates.
	defaultPage = 100
)

// changes counts the changes of all objects in a registry.
type changes struct {
	mo.ManagedEntity
	count atomic.Int64
}

func (c *changes) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "ChangeCounter", Value: "change-counter"}
}
func (c *changes) PutObject(*simulator.Context, mo.Reference) { c.count.Add(1) }
func (c *changes) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {
	c.count.Add(1)
}
func (c *changes) RemoveObject(*simulator.Context, types.ManagedObjectReference) { c.count.Add(1) }

// replaceCollectors replaces the property collectors of clients by ours, at their first filter.
func replaceCollectors(service *simulator.Service, half *makings) {
	counter := &changes{}
	registry := service.Context.Map
	registry.AddHandler(counter)
	registry.Handler = func(ctx *simulator.Context, m *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		if m.Name == "CreateFilter" && ctx.Session != nil {
			if original, ok := ctx.Session.Get(m.This).(*simulator.PropertyCollector); ok {
				ctx.Session.Registry.Put(&collector{PropertyCollector: original, changes: counter, makings: half, cancel: make(chan struct{}, 1)})
			}
		}
		return nil, nil
	}
}

// collector is the property collector of one client. A client waits with one call at a time.
type collector struct {
	*simulator.PropertyCollector
	changes *changes
	makings *makings
	filters []*filter
	// version counts the sent updates. pending contains the rest of a truncated page.
	version int
	pending *types.UpdateSet
	cancel  chan struct{}
}

// filter is a property filter with its last report.
type filter struct {
	mo.PropertyFilter
	owner *collector
	// collected is the change count of seen.
	collected int64
	seen      map[types.ManagedObjectReference]map[string]types.AnyType
}

// CreateFilter adds a filter.
func (c *collector) CreateFilter(ctx *simulator.Context, req *types.CreateFilter) soap.HasFault {
	f := &filter{owner: c, collected: -1}
	f.Self = types.ManagedObjectReference{Type: "PropertyFilter", Value: "filter-" + uuid.NewString()}
	f.Spec, f.PartialUpdates = req.Spec, req.PartialUpdates
	ctx.Session.Registry.Put(f)
	c.filters = append(c.filters, f)
	return &methods.CreateFilterBody{Res: &types.CreateFilterResponse{Returnval: f.Self}}
}

// DestroyPropertyFilter removes the filter from its collector.
func (f *filter) DestroyPropertyFilter(ctx *simulator.Context, _ *types.DestroyPropertyFilter) soap.HasFault {
	var left []*filter
	for _, other := range f.owner.filters {
		if other != f {
			left = append(left, other)
		}
	}
	f.owner.filters = left
	ctx.Session.Remove(ctx, f.Self)
	return &methods.DestroyPropertyFilterBody{Res: &types.DestroyPropertyFilterResponse{}}
}

// CancelWaitForUpdates ends a wait.
func (c *collector) CancelWaitForUpdates(*types.CancelWaitForUpdates) soap.HasFault {
	select {
	case c.cancel <- struct{}{}:
	default:
	}
	return &methods.CancelWaitForUpdatesBody{Res: &types.CancelWaitForUpdatesResponse{}}
}

// DestroyPropertyCollector removes the collector and its filters.
func (c *collector) DestroyPropertyCollector(ctx *simulator.Context, req *types.DestroyPropertyCollector) soap.HasFault {
	c.CancelWaitForUpdates(nil)
	for _, f := range c.filters {
		ctx.Session.Remove(ctx, f.Self)
	}
	ctx.Session.Remove(ctx, req.This)
	return &methods.DestroyPropertyCollectorBody{Res: &types.DestroyPropertyCollectorResponse{}}
}

// WaitForUpdatesEx waits for a difference and reports it. An empty version requests everything.
func (c *collector) WaitForUpdatesEx(ctx *simulator.Context, req *types.WaitForUpdatesEx) soap.HasFault {
	body := &methods.WaitForUpdatesExBody{Res: &types.WaitForUpdatesExResponse{}}
	page, wait := defaultPage, context.Context(ctx)
	once := false
	if o := req.Options; o != nil {
		if o.MaxObjectUpdates > 0 {
			page = min(page, int(o.MaxObjectUpdates))
		}
		if o.MaxWaitSeconds != nil {
			once = *o.MaxWaitSeconds == 0
			var cancel context.CancelFunc
			wait, cancel = context.WithTimeout(ctx, time.Duration(*o.MaxWaitSeconds)*time.Second)
			defer cancel()
		}
	}
	if req.Version == "" {
		c.pending = nil
		for _, f := range c.filters {
			f.collected, f.seen = -1, nil
		}
	}
	ticker := time.NewTicker(settle)
	defer ticker.Stop()
	for {
		if c.pending == nil {
			c.collect(ctx)
		}
		if c.pending == nil && req.Version == "" {
			c.pending = &types.UpdateSet{} // the first answer comes immediately, even if it is empty
		}
		if c.pending != nil {
			body.Res.Returnval = c.page(page)
			return body
		}
		if once {
			return body
		}
		select {
		case <-wait.Done():
			return body
		case <-c.cancel:
			return &methods.WaitForUpdatesExBody{Fault_: simulator.Fault("", &types.RequestCanceled{})}
		case <-ticker.C:
		}
	}
}

// collect sets pending to the changes since the last collection, if there are any.
func (c *collector) collect(ctx *simulator.Context) {
	set := &types.UpdateSet{}
	for _, f := range c.filters {
		now := c.changes.count.Load()
		if f.collected == now {
			continue
		}
		updates, ok := f.difference(ctx, c)
		if !ok {
			continue // an object was removed during the read; the next collection sees all
		}
		f.collected = now
		if len(updates) > 0 {
			set.FilterSet = append(set.FilterSet, types.PropertyFilterUpdate{Filter: f.Self, ObjectSet: updates})
		}
	}
	if len(set.FilterSet) > 0 {
		c.pending = set
	}
}

func (f *filter) difference(ctx *simulator.Context, c *collector) ([]types.ObjectUpdate, bool) {
	res, ok := c.makings.filtered(c.RetrievePropertiesEx(ctx, &types.RetrievePropertiesEx{
		This: c.Self, SpecSet: []types.PropertyFilterSpec{f.Spec},
	})).(*methods.RetrievePropertiesExBody)
	if !ok || res.Res == nil {
		return nil, false
	}
	now := map[types.ManagedObjectReference]map[string]types.AnyType{}
	var updates []types.ObjectUpdate
	if res.Res.Returnval != nil {
		for _, object := range res.Res.Returnval.Objects {
			values := map[string]types.AnyType{}
			for _, p := range object.PropSet {
				values[p.Name] = p.Val
			}
			before, known := f.seen[object.Obj]
			now[object.Obj] = values
			update := types.ObjectUpdate{Obj: object.Obj, Kind: types.ObjectUpdateKindEnter}
			if known {
				update.Kind = types.ObjectUpdateKindModify
			}
			update.ChangeSet = propertyChanges(before, values)
			if !known || len(update.ChangeSet) > 0 {
				updates = append(updates, update)
			}
		}
	}
	for ref := range f.seen {
		if _, still := now[ref]; !still {
			updates = append(updates, types.ObjectUpdate{Obj: ref, Kind: types.ObjectUpdateKindLeave})
		}
	}
	f.seen = now
	return updates, true
}

func propertyChanges(before, now map[string]types.AnyType) []types.PropertyChange {
	var out []types.PropertyChange
	for name, value := range now {
		if old, ok := before[name]; !ok || !reflect.DeepEqual(old, value) {
			out = append(out, types.PropertyChange{Name: name, Op: types.PropertyChangeOpAssign, Val: value})
		}
	}
	for name := range before {
		if _, ok := now[name]; !ok {
			out = append(out, types.PropertyChange{Name: name, Op: types.PropertyChangeOpAssign})
		}
	}
	return out
}

// page removes the next page from pending.
func (c *collector) page(most int) *types.UpdateSet {
	c.version++
	out := &types.UpdateSet{Version: strconv.Itoa(c.version)}
	var left []types.PropertyFilterUpdate
	for _, fu := range c.pending.FilterSet {
		n := min(most, len(fu.ObjectSet))
		if n > 0 {
			out.FilterSet = append(out.FilterSet, types.PropertyFilterUpdate{Filter: fu.Filter, ObjectSet: fu.ObjectSet[:n]})
		}
		if n < len(fu.ObjectSet) {
			left = append(left, types.PropertyFilterUpdate{Filter: fu.Filter, ObjectSet: fu.ObjectSet[n:]})
		}
		most -= n
	}
	c.pending = nil
	if len(left) > 0 {
		c.pending = &types.UpdateSet{FilterSet: left}
		out.Truncated = types.NewBool(true)
	}
	return out
}
