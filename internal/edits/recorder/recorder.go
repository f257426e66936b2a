// Package recorder records in status and events who changed the spec of VmGroups.
package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/edits"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
)

const (
	// Interval is how often the caches are read while requests are pending.
	Interval = 500 * time.Millisecond
	// Settle is the time between the write of status and the event. If another replica has another user for the same change, it removes the user
	// from status meanwhile.
	Settle = 2 * time.Second

	// keep is how long the recorder tries to write an edit that it has proof of. mostKept limits the edits of one member that wait for that.
	keep     = time.Minute
	mostKept = 200
	// attempts is how often a write of status is tried at once. The replica that owns the group also writes when spec changes.
	attempts = 5
)

// Clusters finds the clients of an engaged member.
type Clusters interface {
	GetCluster(ctx context.Context, name multicluster.ClusterName) (cluster.Cluster, error)
}

// Options of a [Recorder]. All are required.
type Options struct {
	Clusters Clusters
	Clock    clock.Clock
	Log      logr.Logger
	// Interval and Settle are those of this package, or shorter ones in a test.
	Interval, Settle time.Duration
}

// Recorder records the edits that this replica has reviewed. It is safe for concurrent use.
type Recorder struct {
	Options

	wake chan struct{}

	mu      sync.Mutex
	pending edits.Pending
	// members have the edits with proof that are not recorded yet, in their order.
	members map[string]*outbox
}

// outbox has the edits of one member. While busy, a goroutine writes the first ones.
type outbox struct {
	busy  bool
	edits []*proved
}

// proved is an edit that was stored. The goroutine of its outbox uses it.
type proved struct {
	edits.Request
	// until is when the recorder gives up.
	until time.Time
	// announce is the time of the event, once status has the edit.
	announce time.Time
	last     error
}

// New returns a Recorder that records while [Recorder.Start] runs.
func New(o Options) *Recorder {
	return &Recorder{Options: o, wake: make(chan struct{}, 1), members: map[string]*outbox{}}
}

// Admitted takes a request that the webhook has allowed. It does not block.
func (r *Recorder) Admitted(q edits.Request) {
	r.mu.Lock()
	r.prove(r.pending.Add(q))
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// prove adds edits to the outbox of their member. The caller holds mu.
func (r *Recorder) prove(all []edits.Request) {
	for _, q := range all {
		o := r.members[q.Member]
		if o == nil {
			o = &outbox{}
			r.members[q.Member] = o
		}
		if len(o.edits) < mostKept {
			o.edits = append(o.edits, &proved{Request: q, until: r.Clock.Now().Add(keep)})
		}
	}
}

// Start implements manager.Runnable.
func (r *Recorder) Start(ctx context.Context) error {
	var writers sync.WaitGroup
	defer writers.Wait()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		}
		for r.step(ctx, &writers) {
			select {
			case <-ctx.Done():
				return nil
			case <-r.Clock.After(r.Interval):
			}
		}
	}
}

// step compares the pending requests with the caches, and starts a writer for each member with edits: a member can be slow. It returns false if
// nothing is left to do.
func (r *Recorder) step(ctx context.Context, writers *sync.WaitGroup) bool {
	r.mu.Lock()
	groups := r.pending.Expire(r.Clock.Now())
	r.mu.Unlock()
	for _, of := range groups {
		cl, err := r.Clusters.GetCluster(ctx, multicluster.ClusterName(of.Member))
		if err != nil {
			continue
		}
		group := &v1alpha1.VmGroup{}
		// The cache owns the group, which can be large.
		if cl.GetClient().Get(ctx, types.NamespacedName{Namespace: of.Namespace, Name: of.Name}, group, client.UnsafeDisableDeepCopy) != nil {
			continue
		}
		seen := edits.SeenOf(group)
		r.mu.Lock()
		r.prove(r.pending.See(of, seen))
		r.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for member, o := range r.members {
		if o.busy {
			continue
		}
		if len(o.edits) == 0 {
			delete(r.members, member)
			continue
		}
		o.busy = true
		all := slices.Clone(o.edits)
		writers.Go(func() { r.flush(ctx, o, all) })
	}
	return len(r.members) > 0 || len(groups) > 0
}

// flush carries out the next step of each edit of a member.
func (r *Recorder) flush(ctx context.Context, o *outbox, all []*proved) {
	done := map[*proved]bool{}
	for _, p := range all {
		done[p] = r.record(ctx, p)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	o.busy = false
	o.edits = slices.DeleteFunc(o.edits, func(p *proved) bool { return done[p] })
}

// record carries out the next step of an edit, and reports whether it was the last one.
func (r *Recorder) record(ctx context.Context, p *proved) (done bool) {
	now := r.Clock.Now()
	if now.After(p.until) {
		r.Log.Error(p.last, "Failed to record who changed a VmGroup", "member", p.Member, "namespace", p.Namespace, "name", p.Name)
		return true
	}
	if !p.announce.IsZero() && now.Before(p.announce) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, memberapi.Timeout)
	defer cancel()
	cl, err := r.Clusters.GetCluster(ctx, multicluster.ClusterName(p.Member))
	if err == nil {
		if p.announce.IsZero() {
			done, err = r.write(ctx, cl, p)
		} else {
			done, err = announce(ctx, cl, p)
		}
	}
	if err != nil {
		p.last = errors.New(memberapi.ErrorText(err))
	}
	return done
}

// write adds the edit to status. The event follows only if this replica has added it.
func (r *Recorder) write(ctx context.Context, cl cluster.Cluster, p *proved) (done bool, err error) {
	for range attempts {
		var group *v1alpha1.VmGroup
		if group, err = p.read(ctx, cl); err != nil || group == nil {
			return group == nil && err == nil, err
		}
		base := group.DeepCopy()
		var changed bool
		if group.Status.Edits, changed = edits.Record(group.Status.Edits, p.Edit); !changed {
			return true, nil
		}
		added := edits.Records(group.Status.Edits, p.Edit)
		err = cl.GetClient().Status().Patch(ctx, group, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
		switch {
		case err == nil && added:
			p.announce = r.Clock.Now().Add(r.Settle)
			return false, nil
		case err == nil:
			return true, nil
		case !apierrors.IsConflict(err):
			return false, fmt.Errorf("write status: %w", err)
		}
	}
	return false, fmt.Errorf("write status: %w", err)
}

// announce writes the event, unless status has another user by now.
func announce(ctx context.Context, cl cluster.Cluster, p *proved) (done bool, err error) {
	group, err := p.read(ctx, cl)
	if err != nil {
		return false, err
	}
	if group != nil && edits.Records(group.Status.Edits, p.Edit) {
		cl.GetEventRecorder("vmgroup-operator").Eventf(group, nil, corev1.EventTypeNormal, v1alpha1.EventSpecChanged, "Edit", "%s", edits.Note(p.Edit))
	}
	return true, nil
}

// read reads the group from the API server. It returns nil if the group was deleted.
func (p *proved) read(ctx context.Context, cl cluster.Cluster) (*v1alpha1.VmGroup, error) {
	group := &v1alpha1.VmGroup{}
	err := cl.GetAPIReader().Get(ctx, types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, group)
	switch {
	case apierrors.IsNotFound(err), err == nil && group.UID != p.UID:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read VmGroup: %w", err)
	}
	return group, nil
}
