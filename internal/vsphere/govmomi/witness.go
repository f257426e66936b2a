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
	// defaultAskAgain is the time until the second and last query, if the first events did not name the author of a change.
	defaultAskAgain = 5 * time.Second
	// askPause is the time between two queries: a failing host changes hundreds of VMs at once.
	askPause = 200 * time.Millisecond
	// mostQuestions is the maximum number of queued changes. vCenter is not asked about further changes.
	mostQuestions = 100
	// ownEffects is the time after our own operation in which a VM's configuration can change on its own, for example at boot.
	ownEffects = 3 * time.Minute
	// eventsSince is the maximum age of an event, with tolerance for different clocks. eventsMost is the maximum number of events read.
	eventsSince = 10 * time.Minute
	eventsMost  = 1000
)

// reported is the newest reported event of a VM, and the time of the report.
type reported struct {
	event int32
	at    time.Time
}

// question is a change whose author is unknown.
type question struct {
	inventory.Change
	seen time.Time
	// asked is true after a query to vCenter.
	asked bool
}

// key identifies the ordinal of the changed VM.
func (q question) key() operations.Key {
	stamp := q.Before.Stamp
	return operations.Key{Group: stamp.Key(), Ordinal: stamp.Ordinal}
}

// wonder receives a change of a VM. It does not block, and ignores the effects of our own operations.
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

// acts notes the start of our operation on a VM.
func (s *Server) acts(vm vsphere.Ref) {
	now := s.cfg.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.acted, func(_ vsphere.Ref, at time.Time) bool { return now.Sub(at) >= ownEffects })
	s.acted[vm] = now
}

// actedLately reports whether we recently cloned the VM of a question or ran an operation on it.
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

// answerQuestions asks vCenter for the authors of changes, one after the other. Without changes it sends nothing.
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
			s.log.Info("No vCenter event names the user who changed a VM", "vm", q.Before.Ref, "change", q.Kind)
		}
		s.tellUnasked()
		if !sleep(ctx, askPause) {
			return ctx.Err()
		}
	}
}

// tellUnasked logs the number of dropped changes.
func (s *Server) tellUnasked() {
	s.mu.Lock()
	n := s.unasked
	s.unasked = 0
	s.mu.Unlock()
	if n > 0 {
		s.log.Info("So many VMs changed at once that vCenter was not asked who changed some of them; its events tell", "vms", n)
	}
}

// whoDid reads the events of a change and reports the change to the Witness.
func (s *Server) whoDid(ctx context.Context, c *connection, q question) (answered bool, err error) {
	on, recursion := q.Before.Ref, types.EventFilterSpecRecursionOptionSelf
	if q.Kind == vsphere.ChangeDeleted || q.Kind == vsphere.ChangeMoved { // deleted VMs and folders have no events of their own
		on, recursion = c.datacenter.ref, types.EventFilterSpecRecursionOptionAll
	}
	since := s.cfg.Now().Add(-eventsSince)
	resp, err := methods.QueryEvents(ctx, c.client, &types.QueryEvents{This: *c.client.ServiceContent.EventManager, Filter: types.EventFilterSpec{
		Entity: &types.EventFilterSpecByEntity{Entity: toRef(on), Recursion: recursion},
		Time:   &types.EventFilterSpecByTime{BeginTime: &since},
		// Messages are localized texts for users, so nothing is parsed from them.
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

// judge returns the change that events prove, and whether they prove one. An event that was reported already does not belong to another change.
// Changes by our own account come from this or an earlier replica.
func (s *Server) judge(events []types.BaseEvent, q question, self string) (change *vsphere.Change, answered bool) {
	event, user, ok := newest(events, q)
	if !ok || event.Key <= s.told[q.Before.Ref].event {
		return nil, false
	}
	now := s.cfg.Now()
	maps.DeleteFunc(s.told, func(_ vsphere.Ref, t reported) bool { return now.Sub(t.at) >= eventsSince }) // such events are not read any more
	s.told[q.Before.Ref] = reported{event.Key, now}
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

// eventsOf returns the types of events for a change. The first is the event of the change itself. For power, the others are all that end a
// state: if one of them is the newest, the event of the change has not arrived yet.
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
		// Only the event of the task reports a move to another folder.
		return []string{"TaskEvent"}
	default:
		return []string{"VmReconfiguredEvent"}
	}
}

// fits reports whether an event can belong to a change.
func (q question) fits(event types.BaseEvent) bool {
	if task, ok := event.(*types.TaskEvent); ok {
		info := task.Info
		return q.Kind == vsphere.ChangeMoved && info.Entity != nil && fromRef(*info.Entity) == q.Now.Folder && strings.HasPrefix(info.DescriptionId, "Folder.move")
	}
	about := event.GetEvent().Vm
	return about != nil && fromRef(about.Vm) == q.Before.Ref
}

// newest returns the newest event about a change, and the user who made the change. It returns false if a later event shows another change. A guest that
// was asked to shut down powers its VM off without a user. The user is then the one who asked.
func newest(events []types.BaseEvent, q question) (event *types.Event, user string, ok bool) {
	events = slices.DeleteFunc(slices.Clone(events), func(e types.BaseEvent) bool { return !q.fits(e) })
	slices.SortFunc(events, func(a, b types.BaseEvent) int { return cmp.Compare(b.GetEvent().Key, a.GetEvent().Key) })
	for i, e := range events {
		if asksGuest(e) {
			continue // the shutdown is not complete yet
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

// sameUser compares accounts, which vCenter writes as DOMAIN\user or as user@domain. A name without a domain matches the same name with any
// domain.
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
