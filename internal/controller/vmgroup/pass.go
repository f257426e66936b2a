package vmgroup

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// pass is one reconcile of one group.
type pass struct {
	gatherer

	r *Reconciler
	// tenure of the group's bucket, under which all is remembered.
	tenure uint64
	// api is the API server of the group's member; store keeps what becomes of the group, which is the same for every group that
	// has not vanished.
	api    apiStore
	store  store
	live   client.Reader
	events events.EventRecorder
	// server is the vCenter that the group was observed with, or nil: what was decided must not be done with another, which may have
	// taken its name meanwhile.
	server vsphere.Server
	// managers are who stand behind the spec, for the audit.
	managers managers
}

// object is the group that a snapshot is of.
func (p *pass) object(s *group.Snapshot) object { return objectOf(p.member.UID, s.Group) }

// run gathers what is known of a group, and then decides and carries out in turn.
func (p pass) run(ctx context.Context, of *v1alpha1.VmGroup) (reconcile.Result, error) {
	asked := ""
	p.managers = managersOf(of)
	p.inventory = func(vcenter string) (_ vsphere.Inventory, ok bool) {
		asked = vcenter
		p.server, ok = p.r.Servers.Server(vcenter)
		return p.server, ok
	}
	s, err := p.gather(ctx, of)
	if err != nil {
		return reconcile.Result{}, err
	}
	p.r.foreignRecord(ctx, s)
	if asked != s.VCenter {
		p.server = nil // another one was looked at, for where the VMs are
	}
	_, s.Vanished = p.store.(vanishedStore)
	if s.MassDeletion.Rules = p.r.Fleet.Rules(); s.Removes() {
		s.MassDeletion.Trips = p.r.Fleet.Trips(p.member.Name, s.ID.Key(), massdeletion.Of(of), p.member.MassDeletion)
	}
	s.Raised = p.r.memory.raised(p.member.UID)
	remembered := p.r.memory.of(p.object(s))
	if s.Written, s.Reported = remembered.written, remembered.reported; s.Unseen() {
		s.OutOfSight = cmp.Or(remembered.outOfSight, p.now)
	}
	p.r.memory.sight(p.object(s), s.OutOfSight)
	done := map[group.Step]bool{}
	for {
		d := group.Decide(s)
		if done[d.Step] {
			return reconcile.Result{}, fmt.Errorf("step %s was carried out and is asked for again: something undoes it", d.Step)
		}
		done[d.Step] = true
		if d.Step == group.Act || d.Step == group.Report {
			p.r.limiter.urgency.keep(requestOf(multicluster.ClusterName(p.member.Name), of), d.Plan.Lacks())
		}
		end, refused, err := p.carryOut(ctx, s, d)
		switch {
		case apierrors.IsConflict(err):
			// The object changed since it was read: the change itself brings the group back. Nothing was sent to vCenter on
			// the strength of the write that failed.
			return reconcile.Result{RequeueAfter: time.Second}, nil
		case err != nil:
			return reconcile.Result{}, err
		case end && refused:
			return reconcile.Result{RequeueAfter: sooner(d.After, group.RetryInterval)}, nil
		case end:
			return reconcile.Result{RequeueAfter: d.After}, nil
		}
	}
}
