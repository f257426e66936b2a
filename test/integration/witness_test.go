//go:build unix

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestWhoeverPowersAVMOffIsNamedOnTheHubOnly(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-a", "witnessed")
	p.apply(p.group("vg", 1))
	folder := folderOf(t, p.untilRunning("vg", 1))
	if err := w.Person.PowerOff(t.Context(), folder+"/vg-0"); err != nil {
		t.Fatal(err)
	}
	note := func(c *stack.Cluster, about string) (note string) {
		await.Until(t, "an event that a VM of "+about+" was powered off", func(ctx context.Context) (bool, error) {
			var list eventsv1.EventList
			if err := c.List(ctx, &list); err != nil {
				return false, fmt.Errorf("list events: %w", err)
			}
			for _, e := range list.Items {
				if e.Reason == "VMPoweredOff" && strings.Contains(e.Note+e.Regarding.Namespace, about) {
					note = e.Note
				}
			}
			return note != "", nil
		})
		return note
	}
	hub, member := note(w.Hub, `"witnessed/vg"`), note(p.cluster, "witnessed")
	if !strings.Contains(hub, fmt.Sprintf("by %q", sim.AdminUsername)) {
		t.Errorf("the event on the hub is: %s", hub)
	}
	if strings.Contains(member, sim.AdminUsername) || !strings.Contains(member, `VCenter "default" on the hub`) {
		t.Errorf("the event in the member is: %s", member)
	}
	p.untilRunning("vg", 1)
}
