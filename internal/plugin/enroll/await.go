package enroll

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

const (
	// interval between two reads of the MemberCluster.
	interval = 200 * time.Millisecond
	// staleFor is how long a condition from before this run can stay although the operator has what it waited for. It reads a Secret within a second.
	staleFor = 10 * time.Second
)

// milestones are the conditions that become true, in this order.
var milestones = []struct{ condition, step string }{
	{v1alpha1.ConditionReady, "the hub reaches the member and serves its VmGroups"},
	{v1alpha1.ConditionCRDInstalled, "the CRD is in place"},
	{v1alpha1.ConditionAdmissionReady, "the admission objects are in place"},
}

// Await waits until the operator serves the member and has installed everything, and reports each step. It fails as soon as a person must change
// something, and when ctx ends.
func (r *Registration) Await(ctx context.Context, report Reporter) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	stale := time.NewTimer(staleFor)
	defer stale.Stop()
	reached, before := 0, (*metav1.Condition)(nil)
	if r.current != nil {
		before = meta.FindStatusCondition(r.current.Status.Conditions, v1alpha1.ConditionStalled)
	}
	mc := &v1alpha1.MemberCluster{}
	for {
		err := r.Hub.Get(ctx, types.NamespacedName{Name: r.Name}, mc)
		switch {
		case ctx.Err() != nil:
			return r.late(mc, reached)
		case err != nil:
			return cluster.Explain(r.Hub.Context, r.Hub.Config.Host, err)
		}
		current := mc.Status.ObservedGeneration == mc.Generation
		for current && reached < len(milestones) {
			c := meta.FindStatusCondition(mc.Status.Conditions, milestones[reached].condition)
			if c == nil || c.Status != metav1.ConditionTrue && c.Reason != v1alpha1.ReasonDefaultsPending {
				break
			}
			switch c.Reason {
			case v1alpha1.ReasonNoWebhook, v1alpha1.ReasonDefaultsPending:
				report.Skipped("the member calls no webhook of the hub", c.Message)
			default:
				report.Done(milestones[reached].step, "")
			}
			reached++
		}
		if reached == len(milestones) {
			return nil
		}
		if c := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionStalled); current && c != nil && c.Status == metav1.ConditionTrue && (before == nil || *c != *before) {
			return &cluster.Failure{Code: cluster.ExitNotWell, Sentence: c.Reason + ": " + c.Message}
		}
		select {
		case <-ctx.Done():
			return r.late(mc, reached)
		case <-stale.C:
			before = nil
		case <-ticker.C:
		}
	}
}

// late is the failure of a member that was not ready in time.
func (r *Registration) late(mc *v1alpha1.MemberCluster, reached int) error {
	said := "the operator has not reported anything; check that it runs on the hub"
	if c := meta.FindStatusCondition(mc.Status.Conditions, milestones[min(reached, len(milestones)-1)].condition); c != nil {
		said = c.Reason + ": " + c.Message
	}
	return &cluster.Failure{Code: cluster.ExitNotWell, Sentence: "The member is not ready yet. The operator continues. Last state: " + said +
		" Look again with: kubectl vmgroup member check " + r.Name}
}
