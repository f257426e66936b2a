package govmomi

import (
	"context"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/survey"
)

const (
	// firstNews is the time limit for the first update of a filter.
	firstNews = 30 * time.Second
	// eventsWithin is the time range of the queried events.
	eventsWithin = 10 * time.Minute
)

// readLists makes the operator's regular reads: listings, updates, events and recent tasks.
func (s *surveyor) readLists(ctx context.Context) {
	r := &survey.Reading{}
	s.facts.Reading = r
	began := s.o.Now()
	r.Listing = problemOf(s.readPages(ctx, r))
	r.Took = s.o.Now().Sub(began)
	began = s.o.Now()
	if vms, err := contained(ctx, s.conn.client, s.home, []types.PropertySpec{
		{Type: vsphere.TypeVirtualMachine, PathSet: append([]string{propName}, stampProperties...)},
	}); err == nil {
		r.VMs = len(vms)
	} else if r.Listing == nil {
		r.Listing = problemOf(err)
	}
	r.VMsTook = s.o.Now().Sub(began)
	if err := s.readEmpty(ctx, r); err != nil && r.Listing == nil {
		r.Listing = problemOf(err)
	}
	began = s.o.Now()
	r.Updates = problemOf(s.waitOnce(ctx))
	r.UpdatesTook = s.o.Now().Sub(began)
	since := s.vcenterNow().Add(-eventsWithin)
	_, err := methods.QueryEvents(ctx, s.conn.client, &types.QueryEvents{
		This: *s.conn.client.ServiceContent.EventManager, Filter: types.EventFilterSpec{
			Entity: &types.EventFilterSpecByEntity{Entity: toRef(s.home), Recursion: types.EventFilterSpecRecursionOptionAll},
			Time:   &types.EventFilterSpecByTime{BeginTime: &since}, EventTypeId: []string{"VmRemovedEvent"}, MaxCount: eventsMost,
			DisableFullMessage: types.NewBool(true),
		}})
	r.Events = problemOf(err)
	tasks, err := recentTasks(ctx, s.conn)
	r.Tasks, r.RecentTasks = problemOf(err), len(tasks)
}

// readPages lists names below the datacenter. If all fit into one page, it repeats the listing with pages of one
// object, so that it always requests a second page.
func (s *surveyor) readPages(ctx context.Context, r *survey.Reading) error {
	props := []types.PropertySpec{
		{Type: vsphere.TypeVirtualMachine, PathSet: []string{propName, propParent}}, {Type: vsphere.TypeFolder, PathSet: []string{propName, propParent}},
	}
	view, err := createView(ctx, s.conn.client, s.conn.datacenter.ref, vsphere.TypeVirtualMachine, vsphere.TypeFolder)
	if err != nil {
		return err
	}
	defer destroyView(ctx, s.conn.client, view)
	spec := viewSpec(view, props)
	token, err := s.page(ctx, r, spec, pageSize)
	if err != nil {
		return err
	}
	if token == "" && r.Objects > 1 {
		again := &survey.Reading{}
		if token, err = s.page(ctx, again, spec, 1); err != nil || token == "" {
			return err
		}
		next, err := s.nextPage(ctx, again, token)
		r.NextPage, r.Continued = problemOf(err), err == nil
		if next != "" {
			_, _ = methods.CancelRetrievePropertiesEx(ctx, s.conn.client, &types.CancelRetrievePropertiesEx{This: s.conn.client.ServiceContent.PropertyCollector, Token: next})
		}
		return nil
	}
	for token != "" {
		if token, err = s.nextPage(ctx, r, token); err != nil {
			r.NextPage = problemOf(err)
			return nil
		}
		r.Continued = true
	}
	return nil
}

func (s *surveyor) page(ctx context.Context, r *survey.Reading, spec types.PropertyFilterSpec, size int32) (token string, err error) {
	resp, err := methods.RetrievePropertiesEx(session.OneListing(ctx), s.conn.client, &types.RetrievePropertiesEx{
		This: s.conn.client.ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{spec}, Options: types.RetrieveOptions{MaxObjects: size},
	})
	if err != nil || resp.Returnval == nil {
		return "", err
	}
	r.Objects, r.Pages = len(resp.Returnval.Objects), 1
	return resp.Returnval.Token, nil
}

func (s *surveyor) nextPage(ctx context.Context, r *survey.Reading, token string) (next string, err error) {
	resp, err := methods.ContinueRetrievePropertiesEx(ctx, s.conn.client, &types.ContinueRetrievePropertiesEx{
		This: s.conn.client.ServiceContent.PropertyCollector, Token: token,
	})
	if err != nil {
		return "", onRoot("read the next page of a listing", s.conn.client, err)
	}
	r.Objects += len(resp.Returnval.Objects)
	r.Pages++
	return resp.Returnval.Token, nil
}

// waitOnce creates a filter and waits for its first update, which comes at once.
func (s *surveyor) waitOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, firstNews)
	defer cancel()
	c := s.conn.client
	made, err := methods.CreatePropertyCollector(ctx, c, &types.CreatePropertyCollector{This: c.ServiceContent.PropertyCollector})
	if err != nil {
		return err
	}
	collector := made.Returnval
	defer func() {
		_, _ = methods.DestroyPropertyCollector(ctx, c, &types.DestroyPropertyCollector{This: collector})
	}()
	_, err = methods.CreateFilter(ctx, c, &types.CreateFilter{This: collector, Spec: types.PropertyFilterSpec{
		ObjectSet: objectSet([]vsphere.Ref{s.home}), PropSet: []types.PropertySpec{{Type: vsphere.TypeFolder, PathSet: []string{propName}}},
	}})
	if err != nil {
		return err
	}
	seconds := int32(10)
	_, err = methods.WaitForUpdatesEx(ctx, c, &types.WaitForUpdatesEx{This: collector, Options: &types.WaitOptions{MaxWaitSeconds: &seconds}})
	return err
}

// clonesSince returns how many clones of this account from a time range have not ended. If vCenter does not show them,
// known is false.
func (s *surveyor) clonesSince(ctx context.Context, from, until time.Time) (n int, known bool) {
	tasks, err := recentTasks(ctx, s.conn)
	if err != nil {
		return 0, false
	}
	const slack = time.Minute
	for _, t := range tasks {
		state := types.TaskInfoState(t.text(taskState))
		queued, _ := t.values[taskQueued].(time.Time)
		running := slices.Contains([]types.TaskInfoState{types.TaskInfoStateQueued, types.TaskInfoStateRunning}, state)
		if running && isClone(t.text("info.descriptionId")) && maybeOurs(t.values["info.reason"], s.conn.session.User()) &&
			!queued.Before(from.Add(-slack)) && !queued.After(until.Add(slack)) {
			n++
		}
	}
	return n, true
}
