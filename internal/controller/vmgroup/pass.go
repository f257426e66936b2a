package vmgroup

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup/effect"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/observe"
)

// pass is one reconcile of one group.
type pass struct {
	effect.Pass

	r *Reconciler
	// tenure of the bucket of the group, under which this process stores state of the group.
	tenure uint64
	// epoch under which the group can be acted on.
	epoch v1alpha1.Epoch
	// client writes to the API server of the member.
	client client.Client
	// vanished is the group, if its API server has removed it, or nil.
	vanished *vanishedGroup
}

// view is the input of a group's snapshot.
func (p *pass) view() observe.View {
	return observe.View{Member: p.Member, Cache: p.Cache, Epoch: p.epoch, Now: p.Now}
}

// store returns the Store of the group.
func (p *pass) store() effect.Store {
	api := effect.API{Client: p.client, Memory: p.Memory}
	if p.vanished != nil {
		return vanishedStore{api, p.r, *p.vanished}
	}
	return api
}

// run gathers the state of a group. Then it decides and carries out, one step after the other.
func (p pass) run(ctx context.Context, of *v1alpha1.VmGroup) (reconcile.Result, error) {
	object := objectOf(p.Member.UID, of)
	p.Memory = &groupMemory{&p.r.memory, object, p.tenure, p.Member.Restores}
	p.Store, p.Managers = p.store(), effect.ManagersOf(of)
	s, server, err := p.r.Snapshot(ctx, of, p.view())
	if err != nil {
		return reconcile.Result{}, err
	}
	p.Server = server
	p.r.foreignRecord(ctx, s)
	s.Vanished = p.vanished != nil
	if s.MassDeletion.Rules = p.r.Fleet.Rules(); s.Removes() {
		s.MassDeletion.Trips = p.r.Fleet.Trips(p.Member.Name, s.ID.Key(), massdeletion.Of(of), p.Member.MassDeletion)
	}
	s.Raised = p.Memory.Raised()
	remembered := p.r.memory.of(object)
	if s.Written, s.Reported = remembered.written, remembered.reported; s.Unseen() {
		s.OutOfSight = cmp.Or(remembered.outOfSight, p.Now)
	}
	p.r.memory.sight(object, s.OutOfSight)
	return p.steps(ctx, s)
}

// steps decides and carries out until a step ends the pass.
func (p *pass) steps(ctx context.Context, s *group.Snapshot) (reconcile.Result, error) {
	done := map[group.Step]bool{}
	for {
		d := group.Decide(s)
		if done[d.Step] {
			return reconcile.Result{}, fmt.Errorf("step %s was carried out and is asked for again: something undoes it", d.Step)
		}
		done[d.Step] = true
		if d.Step == group.Act || d.Step == group.Report {
			priority := 0
			if d.Plan.Lacks() {
				priority = urgent
			}
			p.r.queue.Prefer(requestOf(multicluster.ClusterName(p.Member.Name), s.Group), priority)
		}
		stored := &s.Group.Status
		outcome, err := p.r.effects[d.Step].Do(ctx, &p.Pass, s, d)
		if err == nil {
			p.saw(s, stored, d)
		}
		switch {
		case apierrors.IsConflict(err):
			// The object changed since it was read: the change enqueues the group again. No request was sent to vCenter because
			// of the write that failed.
			return reconcile.Result{RequeueAfter: time.Second}, nil
		case err != nil:
			return reconcile.Result{}, err
		case outcome.Ends && outcome.Refused:
			return reconcile.Result{RequeueAfter: sooner(d.After, group.RetryInterval)}, nil
		case outcome.Ends:
			return reconcile.Result{RequeueAfter: d.After}, nil
		}
	}
}

// saw counts the changes of VMs from outside that the decision is the first to see. The stored status does not show them all: a
// write that only reports can wait, and repairs do not. Changes that were counted before the write are stored until then.
func (p *pass) saw(s *group.Snapshot, stored *v1alpha1.VmGroupStatus, d group.Decision) {
	if d.Step != group.Act || !s.Observation.Complete { // the VMs of its status are those of the stored one
		return
	}
	object := objectOf(p.Member.UID, s.Group)
	counted := p.r.memory.of(object).counted
	if last, next := cmp.Or(counted, stored), cmp.Or(d.Status, d.Later, stored); last != next {
		p.Metrics.Saw(s.VCenter, last, next, s.Observation.VMs)
	}
	if counted != d.Later {
		p.r.memory.change(object, func(m *remembered) { m.counted = d.Later })
	}
}
