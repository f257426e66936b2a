package effect

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// limit requests slots from the budget of the vCenter and cuts the plan to the granted ones. A request for none withdraws the
// one of an earlier pass, so that no group waits for a group in backoff, and ends the group's turn. A VM that is being cloned
// is part of the turn until it can be seen and powered on: nothing is withdrawn meanwhile. Clones of older revisions can need
// templates on other hosts.
func limit(server vsphere.Server, s *group.Snapshot, d group.Decision) (plan.Plan, grants) {
	acquire := server.Acquire
	if d.Plan.Behind {
		acquire = server.AcquireBehind
	}
	key, others := s.ID.Key(), 0
	cloning := slices.ContainsFunc(s.Observation.InFlight, func(o vsphere.Operation) bool { return o.Kind == vsphere.OpClone })
	var g grants
	if n := d.Plan.Tasks(); n > 0 || !cloning {
		slots := acquire(key, "", n)
		g, others = append(g, slots), slots.Granted()
	}
	wanted := clonesByHost(d)
	left := make(map[string]int, len(wanted))
	for host, n := range wanted {
		slots := acquire(key, host, n)
		g, left[host] = append(g, slots), slots.Granted()
	}
	todo := d.Plan.Limit(len(d.Plan.Actions), others)
	todo.Actions = slices.DeleteFunc(todo.Actions, func(a plan.Action) bool {
		if a.Kind != plan.CreateVM {
			return false
		}
		shape, _ := d.Shape(a.Revision)
		host := shape.Names.Template.Host
		left[host]--
		return left[host] < 0 // no template, no clones
	})
	return todo, g
}

// clonesByHost counts the clones of a plan by the host of their template, hosts of templates without clones included.
func clonesByHost(d group.Decision) map[string]int {
	clones := map[string]int{d.Names.Template.Host: 0}
	for i := range d.Old {
		clones[d.Old[i].Names.Template.Host] = 0
	}
	for _, a := range d.Plan.Actions {
		if shape, known := d.Shape(a.Revision); known && a.Kind == plan.CreateVM {
			clones[shape.Names.Template.Host]++
		}
	}
	delete(clones, "")
	return clones
}

// grants are the slots of one pass.
type grants []vsphere.Slots

// Release returns unused slots.
func (g grants) Release() {
	for _, slots := range g {
		slots.Release()
	}
}
