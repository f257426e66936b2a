package sim_test

import (
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestEventsComeLateAndNameAccountsWithTheirDomain(t *testing.T) {
	const delay = 300 * time.Millisecond
	p := person(t, sim.Options{Username: "user@vsphere.local", EventDomain: "VSPHERE.LOCAL", EventDelay: delay})
	_, err := p.CreateVM(t.Context(), "/DC0/vm", "a")
	must(t, err)
	c := p.Client()
	began := time.Now()
	must(t, p.Destroy(t.Context(), "/DC0/vm/a"))
	ask := func(users ...string) []types.BaseEvent {
		filter := types.EventFilterSpec{EventTypeId: []string{"VmRemovedEvent"}}
		if users != nil {
			filter.UserName = &types.EventFilterSpecByUsername{UserList: users}
		}
		resp, err := methods.QueryEvents(t.Context(), c, &types.QueryEvents{This: *c.ServiceContent.EventManager, Filter: filter})
		must(t, err)
		return resp.Returnval
	}
	var events []types.BaseEvent
	for len(events) == 0 && time.Since(began) < time.Minute {
		events = ask()
	}
	if took := time.Since(began); len(events) != 1 || took < delay {
		t.Fatalf("%d events after %s", len(events), took)
	}
	want := `VSPHERE.LOCAL\administrator`
	if got := events[0].GetEvent().UserName; got != want {
		t.Errorf("the event names %q, want %q", got, want)
	}
	if n := len(ask(want)); n != 1 {
		t.Errorf("%d events of %s", n, want)
	}
	if n := len(ask(sim.AdminUsername)); n != 0 {
		t.Errorf("%d events of a name as at the login", n)
	}
}

// TestOnlyTheLast200TasksAreRecent: the limit applies to the whole vCenter.
func TestOnlyTheLast200TasksAreRecent(t *testing.T) {
	p := person(t, sim.Options{})
	for range 101 {
		must(t, p.Rename(t.Context(), "/DC0/vm/db-prod-0", "b"))
		must(t, p.Rename(t.Context(), "/DC0/vm/b", "db-prod-0"))
	}
	if n := len(recentTasks(p, *p.Client().ServiceContent.TaskManager)); n != 200 {
		t.Errorf("%d tasks are recent, want 200", n)
	}
}
