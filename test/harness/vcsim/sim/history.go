package sim

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// history configures how a vCenter shows events.
type history struct {
	// delay is the time until an event appears.
	delay time.Duration
	// domain, if set, is the domain of the names in events. Names are then DOMAIN\user, whatever the user typed at the login.
	domain string
}

// QueryEvents returns the events that have appeared, with names in the form of events.
func (d *desk) QueryEvents(ctx *simulator.Context, req *types.QueryEvents) soap.HasFault {
	manager := ctx.Map.EventManager()
	filter := *req
	filter.This = manager.Self
	users := req.Filter.UserName
	filter.Filter.UserName = nil
	var res soap.HasFault
	ctx.WithLock(manager, func() { res = manager.QueryEvents(ctx, &filter) })
	body, ok := res.(*methods.QueryEventsBody)
	if !ok || body.Res == nil {
		return res
	}
	shown := body.Res.Returnval[:0:0]
	for _, event := range body.Res.Returnval {
		if shows, ok := d.strict.history.show(event, users); ok {
			shown = append(shown, shows)
		}
	}
	body.Res.Returnval = shown
	return body
}

// show returns an event in the form of a vCenter. It reports whether the event has appeared and is by one of the requested users.
func (h history) show(event types.BaseEvent, users *types.EventFilterSpecByUsername) (types.BaseEvent, bool) {
	e := event.GetEvent()
	if time.Since(e.CreatedTime) < h.delay {
		return nil, false
	}
	name := h.spelled(e.UserName)
	if users != nil && !slices.ContainsFunc(users.UserList, func(user string) bool { return strings.EqualFold(user, name) }) {
		return nil, false
	}
	if name != e.UserName {
		event = withUser(event, name)
	}
	return event, true
}

// spelled returns the name of an account in the form of events.
func (h history) spelled(user string) string {
	if h.domain == "" || user == "" {
		return user
	}
	user, _, _ = strings.Cut(user, "@")
	return h.domain + `\` + user
}

// withUser returns a copy of an event with another user. The event in the history stays unchanged.
func withUser(event types.BaseEvent, user string) types.BaseEvent {
	from := reflect.ValueOf(event).Elem()
	to := reflect.New(from.Type())
	to.Elem().Set(from)
	out, _ := to.Interface().(types.BaseEvent)
	out.GetEvent().UserName = user
	return out
}
