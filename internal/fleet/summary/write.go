// Package summary writes to the status of MemberClusters and VCenters how many of their VMs are ready, and which groups are not
// ready.
package summary

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet/tally"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

const (
	// Interval is the minimum time between two writes of one object.
	Interval = 10 * time.Second
	// patience is the timeout after its start for which a replica waits for all members. After it, the replica sums over the known
	// ones.
	patience = time.Minute
)

// Fleet has the groups. *fleet.Fleet implements it.
type Fleet interface {
	Tallies() *tally.Book
	// Listed reports whether all groups of these members are known.
	Listed(members ...string) bool
}

// Writer writes while this replica leads. It is a Runnable of the hub's manager. All fields are required.
type Writer struct {
	Client client.Client
	Fleet  Fleet
	Leader sharding.Leader
	Clock  clock.WithTicker
}

// Start implements manager.Runnable.
func (w *Writer) Start(ctx context.Context) error {
	began, ticker := w.Clock.Now(), w.Clock.NewTicker(Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
		if !w.Leader.Leading() {
			continue
		}
		if err := w.write(ctx, w.Clock.Since(began) >= patience); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "Failed to write how many VMs are ready; the operator retries", "in", Interval.String())
		}
	}
}

// NeedLeaderElection makes the manager run it on every replica: leadership comes from the shards.
func (w *Writer) NeedLeaderElection() bool { return false }

// write updates all objects. If late is true, the sums of VCenters omit members that are still unknown.
func (w *Writer) write(ctx context.Context, late bool) error {
	var members v1alpha1.MemberClusterList
	var vcenters v1alpha1.VCenterList
	if err := errors.Join(w.Client.List(ctx, &members), w.Client.List(ctx, &vcenters)); err != nil {
		return fmt.Errorf("list MemberClusters and VCenters: %w", err)
	}
	ofMembers, ofVCenters := w.Fleet.Tallies().Summaries()
	all := true
	var problems []error
	for i := range members.Items {
		m := &members.Items[i]
		if !w.Fleet.Listed(m.Name) {
			all = false
			continue // the last known values stay
		}
		base := m.DeepCopy()
		s := &m.Status
		s.ReadyVMs, s.DesiredVMs, s.NotReady = fields(ofMembers[m.Name], ofMember)
		if !equality.Semantic.DeepEqual(base.Status, m.Status) {
			problems = append(problems, w.patch(ctx, m, base))
		}
	}
	for i := range vcenters.Items {
		if !all && !late {
			break
		}
		vc := &vcenters.Items[i]
		base := vc.DeepCopy()
		s := &vc.Status
		s.ReadyVMs, s.DesiredVMs, s.NotReady = fields(ofVCenters[vc.Name], ofVCenter)
		if !equality.Semantic.DeepEqual(base.Status, vc.Status) {
			problems = append(problems, w.patch(ctx, vc, base))
		}
	}
	return errors.Join(problems...)
}

// patch writes only these fields; other writers keep theirs.
func (w *Writer) patch(ctx context.Context, object, base client.Object) error {
	if err := w.Client.Status().Patch(ctx, object, client.MergeFrom(base)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status of %s: %w", object.GetName(), err)
	}
	return nil
}
