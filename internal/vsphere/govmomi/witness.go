package govmomi

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

const (
	// defaultAskAgain is when vCenter is asked a second and last time, if its events did not say who made a change.
	defaultAskAgain = 5 * time.Second
	// askPause is the time between two questions: a host that fails changes hundreds of VMs at once.
	askPause = 200 * time.Millisecond
	// mostQuestions is how many changes wait to be asked about. Others are not asked about at all.
	mostQuestions = 100
	// ownEffects is for how long after our own operation on a VM its configuration may change by itself, as when it boots.
	ownEffects = 3 * time.Minute
	// eventsSince is how old an event may be, by clocks that may differ, and eventsMost how many are read.
	eventsSince = 10 * time.Minute
	eventsMost  = 1000
)

// question is a change of which it is not known who made it.
type question struct {
	inventory.Change
	seen time.Time
	// asked is true once vCenter was asked.
	asked bool
}

// key names the ordinal whose VM has changed.
func (q question) key() operations.Key {
	stamp := q.Before.Stamp
	return operations.Key{Group: stamp.Key(), Ordinal: stamp.Ordinal}
}

// wonder takes in a change of a VM. It does not block, and asks nothing that is known: what our own operations do.
func (s *Server) wonder(c inventory.Change) {
	if s.cfg.Witness == nil {
		return
	}
	q := question{Change: c, seen: s.cfg.Now()}
	if s.ops.Acting(q.key()) || c.Kind == vsphere.ChangeReconfigured && s.actedLately(q) || !s.cfg.Witness.Cares(q.key().Group) {
		return
	}
	s.enqueue(q)
}

// acts notes that an operation of ours on a VM begins.
func (s *Server) acts(vm vsphere.Ref) {
	now := s.cfg.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.acted, func(_ vsphere.Ref, at time.Time) bool { return now.Sub(at) >= ownEffects })
	s.acted[vm] = now
}

// actedLately reports whether we cloned the VM of a question, or did something to it, a moment ago.
func (s *Server) actedLately(q question) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := q.Before.Stamp.Created
	if at := s.acted[q.Before.Ref]; at.After(last) {
		last = at
	}
	return q.seen.Sub(last) < ownEffects
}

func (s *Server) enqueue(q question) {
	select {
	case s.questions <- q:
	default:
		s.mu.Lock()
		s.unasked++
		s.mu.Unlock()
	}
}

// answerQuestions asks vCenter who made changes, one after the other. Nothing is asked unless something changed.
func (s *Server) answerQuestions(ctx context.Context, c *connection) error {
	var again []question // in the order in which they are due
	for {
		var due <-chan time.Time
		if len(again) > 0 {
			due = time.After(again[0].seen.Add(s.cfg.AskAgainAfter).Sub(s.cfg.Now()))
		}
		var q question
		select {
		case <-ctx.Done():
			return ctx.Err()
		case q = <-s.questions:
		case <-due:
			q, again = again[0], again[1:]
		}
		if late := s.cfg.Now().Sub(q.seen); late > time.Minute {
			continue // from before the connection broke
		}
		answered, err := s.whoDid(ctx, c, q)
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			s.log.Error(err, "vCenter did not tell who changed a VM", "vm", q.Before.Ref, "change", q.Kind)
		case !answered && !q.asked && len(again) < mostQuestions:
			q.asked = true
			again = append(again, q)
		case !answered:
			s.log.Info("No event of vCenter tells who changed a VM", "vm", q.Before.Ref, "change", q.Kind)
		}
		s.tellUnasked()
		if !sleep(ctx, askPause) {
			return ctx.Err()
		}
	}
}

// tellUnasked says how many changes were dropped.
func (s *Server) tellUnasked() {
	s.mu.Lock()
	n := s.unasked
	s.unasked = 0
	s.mu.Unlock()
	if n > 0 {
		s.log.Info("So many VMs changed at once that vCenter was not asked who changed some of them; its events tell", "vms", n)
	}
}

// whoDid asks for the events of a change, and tells what they say.
func (s *Server) whoDid(ctx context.Context, c *connection, q question) (answered bool, err error) {
	on, recursion := q.Before.Ref, types.EventFilterSpecRecursionOptionSelf
	if q.Kind == vsphere.ChangeDeleted || q.Kind == vsphere.ChangeMoved { // what is gone, and a folder, have no events of their own
		on, recursion = c.datacenter.ref, types.EventFilterSpecRecursionOptionAll
	}
	since := s.cfg.Now().Add(-eventsSince)
	resp, err := methods.QueryEvents(ctx, c.client, &types.QueryEvents{This: *c.client.ServiceContent.EventManager, Filter: types.EventFilterSpec{
		Entity: &types.EventFilterSpecByEntity{Entity: toRef(on), Recursion: recursion},
		Time:   &types.EventFilterSpecByTime{BeginTime: &since},
		// Messages are for people, in their language: nothing is read out of them.
		DisableFullMessage: types.NewBool(true), EventTypeId: eventsOf(q.Kind), MaxCount: eventsMost,
	}})
	if err != nil {
		return false, translate("ask for the events of "+q.Before.Ref.String(), err)
	}
	change, answered := s.judge(resp.Returnval, q, c.session.User())
	if change != nil {
		s.cfg.Witness.Changed(*change)
	}
	return answered, nil
}

// judge says what events tell of a change, and whether they do at all. One that was told of is not the event of another change. What the account
// self did is ours, or that of a replica which was here before.
func (s *Server) judge(events []types.BaseEvent, q question, self string) (change *vsphere.Change, answered bool) {
	event, user, ok := newest(events, q)
	if !ok || event.Key <= s.told[q.Before.Ref] {
		return nil, false
	}
	s.told[q.Before.Ref] = event.Key
	if q.Kind == vsphere.ChangeDeleted {
		delete(s.told, q.Before.Ref) // nothing more will be said of it
	}
	if sameUser(user, self) {
		return nil, true
	}
	change = &vsphere.Change{
		ID: q.Before.Stamp.GroupID, Ordinal: q.Before.Stamp.Ordinal, VM: q.Before.Ref, Kind: q.Kind, At: event.CreatedTime,
	}
	if user != "" {
		change.User = untrusted.Quoted(user)
	}
	return change, true
}

// eventsOf are the types of events that tell of a change, the event of the change itself first. Of power these are all that end a state: if the
// newest is another, that of the change has not come yet.
func eventsOf(kind vsphere.ChangeKind) []string {
	switch kind {
	case vsphere.ChangePoweredOff:
		return []string{"VmPoweredOffEvent", "VmPoweredOnEvent", "VmSuspendedEvent", "VmResumingEvent", "VmGuestShutdownEvent"}
	case vsphere.ChangeSuspended:
		return []string{"VmSuspendedEvent", "VmPoweredOnEvent", "VmPoweredOffEvent", "VmResumingEvent", "VmGuestStandbyEvent"}
	case vsphere.ChangeDeleted:
		return []string{"VmRemovedEvent"}
	case vsphere.ChangeRenamed:
		return []string{"VmRenamedEvent"}
	case vsphere.ChangeMoved:
		// That a VM was put into another folder is told by the event of the task alone.
		return []string{"TaskEvent"}
	default:
		return []string{"VmReconfiguredEvent"}
	}
}

// fits reports whether an event may be about a change.
func (q question) fits(event types.BaseEvent) bool {
	if task, ok := event.(*types.TaskEvent); ok {
		info := task.Info
		return q.Kind == vsphere.ChangeMoved && info.Entity != nil && fromRef(*info.Entity) == q.Now.Folder && strings.HasPrefix(info.DescriptionId, "Folder.move")
	}
	about := event.GetEvent().Vm
	return about != nil && fromRef(about.Vm) == q.Before.Ref
}

// newest returns the newest event of a change, and who was behind it, unless something else happened since. A guest that was asked to shut
// down powers its VM off in nobody's name: then it was who asked.
func newest(events []types.BaseEvent, q question) (event *types.Event, user string, ok bool) {
	events = slices.DeleteFunc(slices.Clone(events), func(e types.BaseEvent) bool { return !q.fits(e) })
	slices.SortFunc(events, func(a, b types.BaseEvent) int { return cmp.Compare(b.GetEvent().Key, a.GetEvent().Key) })
	for i, e := range events {
		if asksGuest(e) {
			continue // that is not the end of it
		}
		if event = e.GetEvent(); reflect.TypeOf(e).Elem().Name() != eventsOf(q.Kind)[0] {
			return nil, "", false
		}
		if user = event.UserName; user == "" && i+1 < len(events) && asksGuest(events[i+1]) {
			user = events[i+1].GetEvent().UserName
		}
		return event, user, true
	}
	return nil, "", false
}

func asksGuest(e types.BaseEvent) bool {
	switch e.(type) {
	case *types.VmGuestShutdownEvent, *types.VmGuestStandbyEvent:
		return true
	}
	return false
}

// sameUser compares accounts, which vCenter writes as DOMAIN\user in one place and as user@domain in another. Who has no domain is taken for
// the one of this name.
func sameUser(a, b string) bool {
	userA, domainA := account(a)
	userB, domainB := account(b)
	return strings.EqualFold(userA, userB) && (domainA == "" || domainB == "" || strings.EqualFold(domainA, domainB))
}

func account(name string) (user, domain string) {
	if domain, user, ok := strings.Cut(name, `\`); ok {
		return user, domain
	}
	user, domain, _ = strings.Cut(name, "@")
	return user, domain
}
