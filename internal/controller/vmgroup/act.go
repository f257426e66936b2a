package vmgroup

import (
	"context"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/planted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// act submits the plan's actions and reports whether one was refused. What became of a submitted task, and why
// one was refused, is remembered by the vSphere port and shows in the next observation.
//
// Actions of one kind are submitted in batches of 1, 2, 4, ...; the first refusal ends the pass, so that a
// template or a vCenter that refuses everything is asked once and not five hundred times.
func (p *pass) act(ctx context.Context, res resolution, todo plan.Plan) (refused bool) {
	for start := 0; start < len(todo.Actions); {
		end := start + 1
		for end < len(todo.Actions) && todo.Actions[end].Kind == todo.Actions[start].Kind {
			end++
		}
		if p.submitSlowly(ctx, res, todo.Actions[start:end]) {
			return true
		}
		start = end
	}
	return false
}

func (p *pass) submitSlowly(ctx context.Context, res resolution, actions []plan.Action) (refused bool) {
	for size := 1; len(actions) > 0; size *= 2 {
		batch := actions[:min(size, len(actions))]
		actions = actions[len(batch):]
		errs := make([]error, len(batch))
		var wg sync.WaitGroup
		for i, action := range batch {
			wg.Go(func() { errs[i] = p.submit(ctx, res, action) })
		}
		wg.Wait()
		for i, err := range errs {
			if err == nil {
				actionsTotal.WithLabelValues(string(batch[i].Kind), "accepted").Inc()
				continue
			}
			refused = true
			actionsTotal.WithLabelValues(string(batch[i].Kind), "refused").Inc()
			log.FromContext(ctx).Info("vCenter refused an action", "action", batch[i].Kind, "vm", batch[i].Name,
				"because", batch[i].Reason, "kind", vsphere.KindOf(err), "reason", err.Error())
		}
		if refused {
			return true
		}
	}
	return false
}

func (p *pass) submit(ctx context.Context, res resolution, action plan.Action) error {
	log.FromContext(ctx).Info("Asking vCenter", "action", action.Kind, "vm", action.Name, "moRef", action.MoRef, "because", action.Reason)
	target := vsphere.Target{
		VM: vsphere.VMRef(action.MoRef), ID: p.id, Ordinal: action.Ordinal, ChangeVersion: action.ChangeVersion,
	}
	switch action.Kind {
	case plan.CreateVM:
		return res.server.Clone(ctx, p.cloneRequest(res, action))
	case plan.PowerOnVM:
		return res.server.PowerOn(ctx, target)
	case plan.PowerOffVM:
		return res.server.PowerOff(ctx, target)
	case plan.ShutdownGuest:
		return res.server.ShutdownGuest(ctx, target)
	case plan.MarkVM:
		return res.server.Mark(ctx, target)
	case plan.DestroyVM:
		return res.server.Destroy(ctx, target)
	case plan.ReleaseVM:
		return res.server.Release(ctx, target)
	}
	return &vsphere.Error{Kind: vsphere.KindSpec, Op: "carry out " + string(action.Kind)}
}

func (p *pass) cloneRequest(res resolution, action plan.Action) vsphere.CloneRequest {
	mode := v1alpha1.CloneFull
	if res.linked {
		mode = v1alpha1.CloneLinked
	}
	name := action.Name
	if planted.Is(planted.RandomNames) {
		name += p.now.Format("-150405.000000000")
	}
	return vsphere.CloneRequest{
		Template: res.template, Folder: p.folder(), Name: name, UUID: action.UUID,
		Stamp: vsphere.Stamp{
			GroupID: p.id, Ordinal: action.Ordinal, Incarnation: action.Incarnation,
			Revision: p.revision, CloneMode: string(mode),
			Epoch: vsphere.Epoch(p.epoch), Created: p.now,
		},
		CPU: p.spec.CPU, MemoryMiB: int64(p.spec.Memory) * 1024,
		Placement: res.placement, Linked: res.linked, UserData: res.userData,
	}
}
