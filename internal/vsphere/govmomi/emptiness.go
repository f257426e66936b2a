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
	// emptyLook is how often it is looked, in memory, whether the root folder was suddenly empty.
	emptyLook = 100 * time.Millisecond
	// emptyRetry and emptyRetryLast bound the time between two questions to vCenter while that is so. It doubles.
	emptyRetry, emptyRetryLast = 5 * time.Second, time.Minute
	// removedSince is how old the event of a removal may be. No VM has the reference of one that was removed, so that an old event says no less than a new one.
	removedSince = 7 * 24 * time.Hour
)

// explainEmptiness ends the alarm over a root folder that is suddenly empty when vCenter itself says that all the VMs that vanished were destroyed by the operator's account.
// Another replica did that then, whose destructions reach this one as news like any accident's, or a predecessor that ended.
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
			s.log.Error(err, "Cannot read all tasks and events, which may say who destroyed the VMs that are gone")
		}
		s.index.Explained(explained)
	}
}

// explained returns those of the VMs that our account has destroyed, by vCenter's recent tasks and by its events. Tasks are there at once, and only the last 200 that ended in
// the whole vCenter. Events come a while later, and stay. An error of the one takes nothing from what the other says.
func (s *Server) explained(ctx context.Context, c *connection, vanished []vsphere.Ref) ([]vsphere.Ref, error) {
	destroyed := map[vsphere.Ref]bool{}
	tasks, failed := recentTasks(ctx, c)
	for _, t := range tasks {
		if isDestruction(t, c.session.User()) {
			destroyed[t.refOf("info.entity")] = true
		}
	}
	found := among(vanished, destroyed)
	// vCenter may know the account by another spelling than the login has. So the events of all accounts are asked for as well: the answer has a bound, and those of the
	// one may be among very many.
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

// isDestruction reports whether a task of our account has destroyed something.
func isDestruction(t object, user string) bool {
	_, method, _ := strings.Cut(t.text("info.descriptionId"), ".")
	return types.TaskInfoState(t.text(taskState)) == types.TaskInfoStateSuccess && strings.HasPrefix(strings.ToLower(method), "destroy") &&
		isOurs(t.values["info.reason"], user)
}

// removals asks for the events of VMs that were removed by some users, or by any. What is gone has no events of its own: they are those of the datacenter.
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

// certainlySame is sameUser for what must be no mistake: a name without a domain is only that of another name without one.
func certainlySame(a, b string) bool {
	userA, domainA := account(a)
	userB, domainB := account(b)
	return userA != "" && strings.EqualFold(userA, userB) && strings.EqualFold(domainA, domainB)
}
