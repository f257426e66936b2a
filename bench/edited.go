//go:build unix

package main

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

const (
	editedGroups, editedReplicas = 300, 2
	editedRounds                 = 2
	// aloneGroups are the new groups that arrive without other load.
	aloneGroups = 10
	// editedTemplate is another template with the same VM.
	editedTemplate = "edited"
)

// edited measures how long a new group of one VM waits for its VM while 300 groups, edited at the same time, are updated. It also measures the cost of
// these groups afterwards.
func edited(ctx context.Context, s *session, r *rig) error {
	if err := r.Person.AddTemplate(ctx, "/DC0/vm", editedTemplate); err != nil {
		return err
	}
	// The measurement begins when the groups exist.
	if err := r.setWidth(ctx, wide); err != nil {
		return err
	}
	if err := r.fill(ctx, s, editedGroups, editedReplicas); err != nil {
		return err
	}
	if err := r.setWidth(ctx, int(r.setup.width)); err != nil {
		return err
	}
	if err := r.settle(ctx, settled); err != nil {
		return err
	}
	every := r.setup.taskTime / 2
	alone := &arrivals{rig: r, prefix: "alone"}
	if err := alone.arrive(ctx, every, func(context.Context) (bool, error) { return len(alone.came) < aloneGroups, nil }); err != nil {
		return err
	}
	first, err := alone.waits(ctx)
	if err != nil {
		return err
	}
	var beside []float64
	var took []float64
	for round := range editedRounds {
		of, whole, err := r.editAll(ctx, round, every)
		if err != nil {
			return err
		}
		s.say("  round %d of %d: %d groups were updated after %s; %d new ones beside them, median %.2f, worst %.2f task times", round+1, editedRounds, editedGroups,
			whole.Round(time.Second), len(of), median(of), worst(of))
		beside, took = append(beside, of...), append(took, whole.Seconds())
	}
	where := fmt.Sprintf("one-VM groups, one each %s while %d groups of %d VMs are updated that were edited at once, half of them with another template and half with "+
		"another number of CPUs; %d tasks at a time; apply until vCenter has powered the VM on; L = %s; %d groups in %d rounds",
		every, editedGroups, editedReplicas, r.setup.width, r.setup.taskTime, len(beside), editedRounds)
	s.add("edited/newcomer/p99", percentile(beside, 99), "x L", atMost(1.5), "%s", where)
	s.add("edited/newcomer/median", median(beside), "x L", noGoal, "%s", where)
	s.add("edited/newcomer/worst", worst(beside), "x L", noGoal, "%s", where)
	s.add("edited/alone/worst", worst(first), "x L", noGoal, "%d groups, one each %s, while the %d are idle", len(first), every, editedGroups)
	s.add("edited/updated/median", median(took), "s", noGoal, "until all of the edited groups are as spec says, with the new ones beside them")
	return idleAfterwards(ctx, s, r)
}

// idleAfterwards measures the cost of the groups as idle does.
func idleAfterwards(ctx context.Context, s *session, r *rig) error {
	if err := r.settle(ctx, settled); err != nil {
		return err
	}
	c, err := r.window(ctx, idleWindow)
	if err != nil {
		return err
	}
	where := fmt.Sprintf("%d groups that were updated and those that came meanwhile, %s", editedGroups, idleWindow)
	s.add("edited/afterwards/soap-per-group", float64(c.other)/editedGroups, "calls", atMost(0),
		"calls that are not the one listing of each interval, or whether vCenter answers; %s", where)
	s.add("edited/afterwards/api-writes", float64(c.writes.groups+c.writes.events), "writes", atMost(0), "groups and events in members; %s", where)
	return nil
}

// editAll edits all groups of the rig, and adds new groups until all edited ones match their spec. It returns the wait of each new group in task
// times, and the duration of the update. Every second round reverts the edit of the round before.
func (r *rig) editAll(ctx context.Context, round int, every time.Duration) (waits []float64, took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	name, cpus := editedTemplate, 2
	if round%2 == 1 {
		name, cpus = template, 1
	}
	r.Proxy.Reset()
	began := time.Now()
	if err := each(ctx, r.seats(editedGroups), func(ctx context.Context, i int, at seat) error {
		patch := fmt.Sprintf(`{"spec":{"template":%q}}`, name)
		if i/len(r.Members)%2 == 1 {
			patch = fmt.Sprintf(`{"spec":{"cpu":%d}}`, cpus)
		}
		return at.member.Patch(ctx, newGroup(at.name, 0), mergePatch(patch))
	}); err != nil {
		return nil, 0, fmt.Errorf("edit the groups: %w", err)
	}
	beside := &arrivals{rig: r, prefix: fmt.Sprintf("beside-%d", round)}
	if err := beside.arrive(ctx, every, func(ctx context.Context) (bool, error) {
		left, err := r.outdated(ctx)
		return left > 0, err
	}); err != nil {
		return nil, 0, err
	}
	took = time.Since(began)
	waits, err = beside.waits(ctx)
	return waits, took, err
}

// outdated counts the groups of the rig that do not match their spec.
func (r *rig) outdated(ctx context.Context) (int, error) {
	left := r.groups
	for _, member := range r.Members {
		list := &v1alpha1.VmGroupList{}
		if err := member.List(ctx, list); err != nil {
			return 0, err
		}
		for i := range list.Items {
			g := &list.Items[i]
			st := &g.Status
			if int(*g.Spec.Replicas) == r.replicas && st.ObservedGeneration == g.Generation && int(st.UpdatedReplicas) == r.replicas &&
				int(st.Replicas) == r.replicas && stack.IsReady(st.Conditions) {
				left--
			}
		}
	}
	return left, nil
}

// arrivals are groups of one VM that arrive one at a time.
type arrivals struct {
	*rig
	prefix string
	came   []newcomer
}

type newcomer struct {
	uid  string
	seat seat
	at   time.Time
}

// arrive creates a group in each interval while more returns true, and then waits until all of them have their VM.
func (a *arrivals) arrive(ctx context.Context, every time.Duration, more func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		on, err := more(ctx)
		if err != nil {
			return err
		}
		if !on {
			break
		}
		n := len(a.came)
		one := newcomer{seat: seat{a.Members[a.setup.members[n%len(a.setup.members)]], fmt.Sprintf("%s-%d", a.prefix, n)}, at: time.Now()}
		group := newGroup(one.seat.name, 1)
		if err := one.seat.member.Create(ctx, group); err != nil {
			return fmt.Errorf("apply group %s: %w", one.seat.name, err)
		}
		one.uid = string(group.UID)
		a.came = append(a.came, one)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return a.everySecond(ctx, fmt.Sprintf("%d new groups to have their VM", len(a.came)), func(ctx context.Context) (bool, error) {
		for _, one := range a.came {
			g := newGroup(one.seat.name, 1)
			if err := one.seat.member.Get(ctx, client.ObjectKeyFromObject(g), g); err != nil || !stack.IsReady(g.Status.Conditions) {
				return false, err
			}
		}
		return true, nil
	})
}

// waits returns the wait of each group in task times, from before its creation until vCenter answered that its VM is powered on. The simulator has so
// many VMs then that continuous reads would take CPU time from the measured programs.
func (a *arrivals) waits(ctx context.Context) ([]float64, error) {
	on := map[string]time.Time{}
	for _, record := range a.Proxy.Records() {
		if record.Method == "PowerOnVM_Task" && record.Outcome == "ok" && on[record.Group].IsZero() {
			on[record.Group] = record.End
		}
	}
	running, err := a.onByGroup(ctx)
	if err != nil {
		return nil, err
	}
	var waits []float64
	for _, one := range a.came {
		at, ok := on[one.uid]
		if !ok || running[one.seat.name] != 1 {
			return nil, fmt.Errorf("group %s is ready, and vCenter runs %d VMs of it; the power-on was seen: %t", one.seat.name, running[one.seat.name], ok)
		}
		waits = append(waits, float64(at.Sub(one.at))/float64(a.setup.taskTime))
	}
	return waits, nil
}
