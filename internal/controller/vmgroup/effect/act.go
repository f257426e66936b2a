package effect

import (
	"context"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// act writes status, and then submits as much of the plan as the budget of the vCenter allows.
type act struct{ quotas Quotas }

// Do implements Effect. It stores the intents before it takes slots: a member that answers slowly must not hold slots that
// others could use.
func (a act) Do(ctx context.Context, p *Pass, s *group.Snapshot, d group.Decision) (Outcome, error) {
	if d.AdoptionEnds && s.Adoption.Answer != nil {
		endAdoption(ctx, a.quotas, p, s)
	}
	if err := p.writeStatus(ctx, s, d); err != nil {
		return Outcome{}, err
	}
	return Outcome{Ends: true, Refused: p.submitPlan(ctx, s, d)}, nil
}

// submitPlan submits actions, and reports whether vCenter refused one. The vSphere port stores the results of tasks and the
// reasons of refusals; the next observation has them.
//
// It submits actions of one kind in batches of 1, 2, 4, ... The first refusal ends the pass: a template or a vCenter that
// refuses everything gets one request and not five hundred.
func (p *Pass) submitPlan(ctx context.Context, s *group.Snapshot, d group.Decision) (refused bool) {
	if p.Server == nil {
		return false // and nothing to submit
	}
	todo, slots := limit(p.Server, s, d)
	defer slots.Release()
	for start := 0; start < len(todo.Actions); {
		end := start + 1
		for end < len(todo.Actions) && todo.Actions[end].Kind == todo.Actions[start].Kind {
			end++
		}
		if p.submitSlowly(ctx, s, d, todo.Actions[start:end]) {
			return true
		}
		start = end
	}
	return false
}

func (p *Pass) submitSlowly(ctx context.Context, s *group.Snapshot, d group.Decision, actions []plan.Action) (refused bool) {
	for size := 1; len(actions) > 0; size *= 2 {
		batch := actions[:min(size, len(actions))]
		actions = actions[len(batch):]
		errs := make([]error, len(batch))
		var wg sync.WaitGroup
		for i, action := range batch {
			wg.Go(func() { errs[i] = p.submit(ctx, s, d, action) })
		}
		wg.Wait()
		for i, err := range errs {
			p.Metrics.Submitted(s.VCenter, batch[i], err)
			if err == nil {
				p.audit(ctx, s, batch[i])
				continue
			}
			refused = refused || !slices.Contains(aboutDisks, vsphere.KindOf(err))
			logRefusal(ctx, s, batch[i], err)
		}
		if refused {
			return true
		}
	}
	return false
}

// aboutDisks are errors that prove nothing about vCenter: the other actions continue.
var aboutDisks = []vsphere.Kind{vsphere.KindForeignDisk, vsphere.KindGrowthBlocked}

// logOf returns the log for an action: one of details if the action is quiet.
func logOf(ctx context.Context, action plan.Action) logr.Logger {
	if action.Quiet {
		return log.FromContext(ctx).V(1)
	}
	return log.FromContext(ctx)
}
