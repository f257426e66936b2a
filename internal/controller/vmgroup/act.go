package vmgroup

import (
	"context"
	"fmt"
	"slices"
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
	todo, slots := limit(p.server, s, d)
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
// asked for, so that nobody waits for a group in backoff, and ends the group's turn. A VM that is being cloned is part of the turn until it can be seen
// and powered on: nothing is taken back meanwhile. Clones of older revisions may be of templates on other hosts.
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

// clonesByHost counts the clones of a plan by the host of their template. Hosts of templates that none is cloned of are among them.
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
			p.r.Metrics.Submitted(s.VCenter, batch[i], err)
			if err == nil {
				p.audit(ctx, s, batch[i])
				continue
			}
			// A VM that is kept because of its disks says nothing about vCenter: the others go on.
			refused = refused || vsphere.KindOf(err) != vsphere.KindForeignDisk
			logRefusal(ctx, s, batch[i], err)
		}
		if refused {
			return true
		}
	}
	return false
}

func logRefusal(ctx context.Context, s *group.Snapshot, action plan.Action, err error) {
	values := []any{"vcenter", s.VCenter, "action", action.Kind, "vm", action.Name, "because", action.Reason, "kind", vsphere.KindOf(err)}
	if action.Quiet {
		log.FromContext(ctx).V(1).Info("vCenter refused an action", append(values, "error", err.Error())...)
		return
	}
	log.FromContext(ctx).Error(err, "vCenter refused an action", values...)
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
		shape, known := d.Shape(action.Revision)
		if !known {
			return &vsphere.Error{Kind: vsphere.KindSpec, Op: fmt.Sprintf("clone a VM of revision %s, of which nobody knows what it is made of", action.Revision)}
		}
		return p.server.Clone(ctx, cloneRequest(s, shape, action))
	case plan.PowerOnVM:
		return p.server.PowerOn(ctx, target)
	case plan.PowerOffVM:
		return p.server.PowerOff(ctx, target)
	case plan.ShutdownGuest:
		target.Within = action.Within
		return p.server.ShutdownGuest(ctx, target)
	case plan.ReconfigureVM:
		r, err := reconfiguration(d, action, target)
		if err != nil {
			return err
		}
		return p.server.Reconfigure(ctx, r)
	case plan.MarkVM:
		return p.server.Mark(ctx, target)
	case plan.DestroyVM:
		return p.server.Destroy(ctx, target)
	case plan.ReleaseVM:
		return p.server.Release(ctx, target)
	case plan.RestampVM:
		target.ID.Installation = s.Predecessors.Agreed()
		return p.server.Restamp(ctx, target, s.ID.Installation)
	case plan.CancelClone:
		return p.server.CancelClone(ctx, s.ID.Key(), action.Ordinal)
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

// reconfiguration is what changes of a VM. Only the shape of spec is given to VMs that exist, once it is granted and allowed.
func reconfiguration(d group.Decision, action plan.Action, target vsphere.Target) (vsphere.Reconfiguration, error) {
	r := vsphere.Reconfiguration{Target: target, Revision: action.Revision, CPU: action.CPU, MemoryMiB: action.MemoryMiB}
	op := "change " + action.Name
	if action.Revision != d.Revision || d.Names.Blocked != nil {
		return r, &vsphere.Error{Kind: vsphere.KindSpec, Op: op, Err: fmt.Errorf("revision %s is not what spec asks for, or it is not allowed", action.Revision)}
	}
	if action.Network == nil {
		return r, nil
	}
	var wanted string
	if p := d.Spec.Placement; p != nil {
		wanted = p.Network
	}
	if r.Network = d.Names.Placement.Network; *action.Network != wanted || r.Network.IsZero() {
		return r, &vsphere.Error{Kind: vsphere.KindSpec, Op: op, Err: fmt.Errorf("spec.placement.network is %q, and %q was to be connected", wanted, *action.Network)}
	}
	return r, nil
}

// metadataOf is what the guest of a VM is told about itself, or nil for nothing.
func metadataOf(spec *v1alpha1.VmGroupSpec, vm string) *vsphere.Metadata {
	if spec.Guest == nil {
		return nil
	}
	m := &vsphere.Metadata{More: spec.Guest.Metadata}
	if spec.Guest.Hostname == v1alpha1.GuestHostnameName {
		m.Hostname = vm
	}
	return m
}

// guestInfoKey is the key by which guests say that they are ready, or empty.
func guestInfoKey(spec *v1alpha1.VmGroupSpec) string {
	if spec.Readiness == nil || spec.Readiness.GuestInfo == nil {
		return ""
	}
	return spec.Readiness.GuestInfo.Key
}

func cloneRequest(s *group.Snapshot, of group.Shape, action plan.Action) vsphere.CloneRequest {
	mode := v1alpha1.CloneFull
	if of.Names.Linked {
		mode = v1alpha1.CloneLinked
	}
	var userData, ignition []byte
	if ref := of.Spec.UserDataSecretRef; ref != nil && s.UserData[ref.Name] != nil {
		userData, ignition = s.UserData[ref.Name].Data, s.UserData[ref.Name].Ignition
	}
	return vsphere.CloneRequest{
		Template: of.Names.Template, Folder: vsphere.FolderRef(s.Folder.MoRef), Name: action.Name, UUID: action.UUID,
		Stamp: vsphere.Stamp{
			GroupID: s.ID, Ordinal: action.Ordinal, Incarnation: action.Incarnation,
			Revision: action.Revision, CloneMode: string(mode),
			Epoch: vsphere.Epoch(s.Epoch), Created: s.Now,
		},
		CPU: of.Spec.CPU, MemoryMiB: int64(of.Spec.Memory) * 1024,
		Placement: of.Names.Placement, Linked: of.Names.Linked, UserData: userData, Ignition: ignition,
		Note: s.Note(action.Name), Metadata: metadataOf(&of.Spec, action.Name), GuestInfoKey: guestInfoKey(&of.Spec),
	}
}
