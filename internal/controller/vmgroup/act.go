package vmgroup

import (
	"context"
	"sync"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// submitPlan submits as much of the plan as the vCenter's budget allows, and reports whether an action was refused. What became of a
// submitted task, and why one was refused, is remembered by the vSphere port and shows in the next observation.
//
// Actions of one kind are submitted in batches of 1, 2, 4, ...; the first refusal ends the pass, so that a
// template or a vCenter that refuses everything is asked once and not five hundred times.
func (p *pass) submitPlan(ctx context.Context, s *group.Snapshot, d group.Decision) (refused bool) {
	if p.server == nil {
		return false // and nothing to submit
	}
	todo, slots := limit(p.server, s.ID.Key(), d)
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

// limit asks the vCenter's budget for slots and cuts the plan to what was granted. Asking for none takes back what an earlier pass
// asked for, so that nobody waits for a group in backoff.
func limit(server vsphere.Server, key vsphere.GroupKey, d group.Decision) (plan.Plan, grants) {
	others := server.Acquire(key, "", d.Plan.Tasks())
	g, clones := grants{others}, 0
	if host := d.Names.Template.Host; host != "" { // no template, no clones
		slots := server.Acquire(key, host, d.Plan.Creates())
		g, clones = append(g, slots), slots.Granted()
	}
	return d.Plan.Limit(clones, others.Granted()), g
}

// grants are the slots of one pass.
type grants []vsphere.Slots

// Release gives back what was not used.
func (g grants) Release() {
	for _, slots := range g {
		slots.Release()
	}
}

func (p *pass) submitSlowly(ctx context.Context, s *group.Snapshot, d group.Decision, actions []plan.Action) (refused bool) {
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
			if err == nil {
				actionsTotal.WithLabelValues(string(batch[i].Kind), "accepted").Inc()
				p.audit(ctx, s, batch[i])
				continue
			}
			// A VM that is kept because of its disks says nothing about vCenter: the others go on.
			refused = refused || vsphere.KindOf(err) != vsphere.KindForeignDisk
			actionsTotal.WithLabelValues(string(batch[i].Kind), "refused").Inc()
			logOf(ctx, batch[i]).Info("vCenter refused an action", "action", batch[i].Kind, "vm", batch[i].Name,
				"because", batch[i].Reason, "kind", vsphere.KindOf(err), "reason", err.Error())
		}
		if refused {
			return true
		}
	}
	return false
}

// logOf is the log for an action: one of details if it is quiet.
func logOf(ctx context.Context, action plan.Action) logr.Logger {
	if action.Quiet {
		return log.FromContext(ctx).V(1)
	}
	return log.FromContext(ctx)
}

func (p *pass) submit(ctx context.Context, s *group.Snapshot, d group.Decision, action plan.Action) error {
	logOf(ctx, action).Info("Asking vCenter", "action", action.Kind, "vm", action.Name, "moRef", action.MoRef, "because", action.Reason)
	target := vsphere.Target{
		VM: vsphere.VMRef(action.MoRef), ID: s.ID, Ordinal: action.Ordinal, Namespace: s.Group.Namespace, ChangeVersion: action.ChangeVersion,
	}
	switch action.Kind {
	case plan.CreateVM:
		return p.server.Clone(ctx, cloneRequest(s, d, action))
	case plan.PowerOnVM:
		return p.server.PowerOn(ctx, target)
	case plan.PowerOffVM:
		return p.server.PowerOff(ctx, target)
	case plan.ShutdownGuest:
		target.Within = action.Within
		return p.server.ShutdownGuest(ctx, target)
	case plan.MarkVM:
		return p.server.Mark(ctx, target)
	case plan.DestroyVM:
		return p.server.Destroy(ctx, target)
	case plan.ReleaseVM:
		return p.server.Release(ctx, target)
	case plan.RestampVM:
		target.ID.Installation = s.Predecessors.Agreed()
		return p.server.Restamp(ctx, target, s.ID.Installation)
	case plan.ClaimVM:
		return p.server.Claim(ctx, adoption(s, action))
	case plan.MoveVM:
		return p.server.Move(ctx, adoption(s, action))
	case plan.RenameVM:
		return p.server.Rename(ctx, adoption(s, action))
	case plan.AdoptVM:
		return p.server.Adopt(ctx, adoption(s, action))
	}
	return &vsphere.Error{Kind: vsphere.KindSpec, Op: "carry out " + string(action.Kind)}
}

func cloneRequest(s *group.Snapshot, d group.Decision, action plan.Action) vsphere.CloneRequest {
	mode := v1alpha1.CloneFull
	if d.Names.Linked {
		mode = v1alpha1.CloneLinked
	}
	var userData []byte
	if s.UserData != nil {
		userData = s.UserData.Data
	}
	return vsphere.CloneRequest{
		Template: d.Names.Template, Folder: vsphere.FolderRef(s.Folder.MoRef), Name: action.Name, UUID: action.UUID,
		Stamp: vsphere.Stamp{
			GroupID: s.ID, Ordinal: action.Ordinal, Incarnation: action.Incarnation,
			Revision: d.Revision, CloneMode: string(mode),
			Epoch: vsphere.Epoch(s.Epoch), Created: s.Now,
		},
		CPU: d.Spec.CPU, MemoryMiB: int64(d.Spec.Memory) * 1024,
		Placement: d.Names.Placement, Linked: d.Names.Linked, UserData: userData,
	}
}
