package govmomi

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// emptyLook is the interval of the check, in memory, for a suddenly empty root folder.
	emptyLook = 100 * time.Millisecond
	// emptyRetry and emptyRetryLast limit the time between two queries to vCenter during the alarm. The time doubles.
	emptyRetry, emptyRetryLast = 5 * time.Second, time.Minute
	// removedSince is the maximum age of a removal event. vCenter never reuses a reference, so an old event is as reliable as a new one.
	removedSince = 7 * 24 * time.Hour
)

// explainEmptiness ends the alarm over a suddenly empty root folder if vCenter confirms that the operator's account destroyed all vanished VMs. Then another
// replica or a predecessor that ended destroyed them. Its destructions look like an accident to this replica.
func (s *Server) explainEmptiness(ctx context.Context, c *connection) error {
	look := time.NewTicker(emptyLook)
	defer look.Stop()
	var last time.Time
	pause := emptyRetry
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
		}
		vanished := s.index.Vanished()
		if len(vanished) == 0 {
			last, pause = time.Time{}, emptyRetry
			continue
		}
		if !last.IsZero() {
			if s.cfg.Now().Sub(last) < pause {
				continue
			}
			pause = min(2*pause, emptyRetryLast)
		}
		last = s.cfg.Now()
		explained, err := s.explained(ctx, c, vanished)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.log.Error(err, "Cannot read all tasks and events, which can name the user who destroyed the missing VMs")
		}
		s.index.Explained(explained)
	}
}

// explained returns the vanished VMs that our account destroyed, according to vCenter's recent tasks and events. Tasks are available immediately, but only the
// last 200 ended tasks of the whole vCenter. Events arrive later and stay. An error of one source does not invalidate the other.
func (s *Server) explained(ctx context.Context, c *connection, vanished []vsphere.Ref) ([]vsphere.Ref, error) {
	destroyed := map[vsphere.Ref]bool{}
	tasks, failed := recentTasks(ctx, c)
	for _, t := range tasks {
		if isDestruction(t, c.session.User()) {
			destroyed[t.refOf("info.entity")] = true
		}
	}
	found := among(vanished, destroyed)
	// vCenter can spell the account differently from the login. So the second query asks for the events of all accounts. The first query is still needed: an
	// answer is limited, and the account's events can be among very many others.
	for _, users := range [][]string{{c.session.User()}, nil} {
		if len(found) == len(vanished) {
			return found, nil
		}
		events, err := removals(ctx, c, s.cfg.Now().Add(-removedSince), users)
		failed = errors.Join(failed, err)
		for _, event := range events {
			if e := event.GetEvent(); e.Vm != nil && certainlySame(e.UserName, c.session.User()) {
				destroyed[fromRef(e.Vm.Vm)] = true
			}
		}
		found = among(vanished, destroyed)
	}
	return found, failed
}

func among(refs []vsphere.Ref, set map[vsphere.Ref]bool) (out []vsphere.Ref) {
	for _, ref := range refs {
		if set[ref] {
			out = append(out, ref)
		}
	}
	return out
}

// isDestruction reports whether a task of our account destroyed an object.
func isDestruction(t object, user string) bool {
	_, method, _ := strings.Cut(t.text("info.descriptionId"), ".")
	return types.TaskInfoState(t.text(taskState)) == types.TaskInfoStateSuccess && strings.HasPrefix(strings.ToLower(method), "destroy") &&
		isOurs(t.values["info.reason"], user)
}

// removals returns the events of VMs removed by some users, or by any user. A deleted VM has no events of its own, so the query asks for the datacenter's.
func removals(ctx context.Context, c *connection, since time.Time, users []string) ([]types.BaseEvent, error) {
	filter := types.EventFilterSpec{
		Entity:             &types.EventFilterSpecByEntity{Entity: toRef(c.datacenter.ref), Recursion: types.EventFilterSpecRecursionOptionAll},
		Time:               &types.EventFilterSpecByTime{BeginTime: &since},
		DisableFullMessage: types.NewBool(true), EventTypeId: []string{"VmRemovedEvent"}, MaxCount: eventsMost,
	}
	if users != nil {
		filter.UserName = &types.EventFilterSpecByUsername{UserList: users}
	}
	resp, err := methods.QueryEvents(ctx, c.client, &types.QueryEvents{This: *c.client.ServiceContent.EventManager, Filter: filter})
	if err != nil {
		return nil, translate("ask for the events of removed VMs", err)
	}
	return resp.Returnval, nil
}

// isOurs reports whether a task was certainly started by our account.
func isOurs(reason any, user string) bool {
	switch r := reason.(type) {
	case types.TaskReasonUser:
		return certainlySame(r.UserName, user)
	case *types.TaskReasonUser:
		return certainlySame(r.UserName, user)
	}
	return false
}

// certainlySame is sameUser without guesses: a name without a domain matches only another name without a domain.
func certainlySame(a, b string) bool {
	userA, domainA := account(a)
	userB, domainB := account(b)
	return userA != "" && strings.EqualFold(userA, userB) && strings.EqualFold(domainA, domainB)
}
