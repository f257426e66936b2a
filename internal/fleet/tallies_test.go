package fleet

import (
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet/tally"
)

// counts draws the counts of a group.
func (r *modelRun) counts(g *v1alpha1.VmGroup) {
	phases := []v1alpha1.VMPhase{v1alpha1.VMReady, v1alpha1.VMCloning, v1alpha1.VMLost, "Dancing"}
	for i := range g.Status.VMs {
		g.Status.VMs[i].Phase = rapid.SampledFrom(phases).Draw(r.T, "phase")
	}
	g.Status.DesiredReplicas = int32(rapid.IntRange(0, 5).Draw(r.T, "desired"))
	g.Status.Conditions = append(g.Status.Conditions, metav1.Condition{
		Type:               v1alpha1.ConditionReady,
		Status:             rapid.SampledFrom([]metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse}).Draw(r.T, "ready"),
		Reason:             rapid.SampledFrom([]string{v1alpha1.ReasonScalingUp, "Invented"}).Draw(r.T, "reason"),
		LastTransitionTime: metav1.NewTime(r.now.Add(-time.Duration(rapid.IntRange(0, 90).Draw(r.T, "minutes")) * time.Minute)),
	})
}

// sameTallies counts all groups anew and compares.
func (r *modelRun) sameTallies() {
	for _, buckets := range [][]int{{4, 5, 6, 7, 8}, {5, 6}} {
		want := map[tally.Cell]*tally.Sum{}
		for _, g := range r.n.groups {
			if g.shape == nil || !slices.Contains(buckets, len(g.Ref.Namespace+g.Ref.Name)) {
				continue
			}
			cell := tally.Cell{Member: g.Ref.Member, VCenter: g.VCenter}
			if want[cell] == nil {
				want[cell] = &tally.Sum{Total: tally.Total{Reasons: map[string]int{}}}
			}
			addTo(want[cell], g.shape, r.now)
		}
		if got := r.f.Tallies().Sums(buckets, r.now); !reflect.DeepEqual(got, want) {
			r.Fatalf("buckets %v: got %+v, want %+v", buckets, got, want)
		}
	}
	notReady := map[string]int{}
	for _, g := range r.n.groups {
		if g.shape != nil && !g.shape.Since.IsZero() {
			notReady[g.Ref.Member]++
		}
	}
	members, _ := r.f.Tallies().Summaries()
	for _, member := range modelMembers {
		s := members[member]
		if s == nil {
			s = &tally.Summary{}
		}
		oldest := slices.IsSortedFunc(s.Worst, func(a, b tally.NotReady) int { return a.Since.Compare(b.Since) })
		if s.NotReady != notReady[member] || len(s.Worst) != min(s.NotReady, tally.MostWorst) || !oldest {
			r.Fatalf("member %s is %+v, want %d groups that are not ready", member, s, notReady[member])
		}
	}
}

func addTo(sum *tally.Sum, s *tally.Shape, now time.Time) {
	sum.Groups[s.State]++
	if s.Reason != "" {
		sum.Reasons[s.Reason]++
	}
	for i, n := range s.VMs {
		sum.VMs[i] += int(n)
	}
	sum.Desired += int(s.Desired)
	for i, held := range s.Held {
		if held {
			sum.Held[i]++
		}
	}
	if s.Rollout != tally.RolloutNone {
		sum.Rollouts[s.Rollout]++
	}
	for i, age := range tally.Ages {
		if !s.Since.IsZero() && now.Sub(s.Since) > age {
			sum.LongerThan[i]++
		}
	}
}
