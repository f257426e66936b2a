package collect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet/tally"
	"github.com/codeconnect/vmgroup-operator/internal/metrics"
)

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

type noon struct{}

func (noon) Now() time.Time { return now }

// known are existing vCenters, and the counts.
type known struct {
	book     *tally.Book
	vcenters map[string]struct{}
}

func (k known) Tallies() *tally.Book          { return k.book }
func (k known) VCenters() map[string]struct{} { return k.vcenters }

type held []int

func (h held) HeldBuckets() []int { return h }

func (k known) add(bucket int, member, vcenter, name string, shape tally.Shape) {
	k.book.Add(bucket, tally.Group{Cell: tally.Cell{Member: member, VCenter: vcenter}, Key: member + name, Namespace: "ns", Name: name, Shape: &shape})
}

func newKnown(vcenters ...string) known {
	k := known{tally.NewBook(), map[string]struct{}{}}
	for _, name := range vcenters {
		k.vcenters[name] = struct{}{}
	}
	return k
}

// gathered returns all series with their values, in the syntax of a query.
func gathered(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			all[family.GetName()+labelsOf(m)] = m.GetGauge().GetValue()
		}
	}
	return all
}

func labelsOf(m *dto.Metric) string {
	labels := make([]string, 0, len(m.GetLabel()))
	for _, l := range m.GetLabel() {
		labels = append(labels, l.GetName()+"="+l.GetValue())
	}
	return "{" + strings.Join(labels, ",") + "}"
}

func TestEachGroupIsReportedByTheHolderOfItsBucket(t *testing.T) {
	k := newKnown("vc")
	ready := tally.Shape{State: tally.Running, Desired: 2}
	ready.VMs[tally.VMReady] = 2
	waits := tally.Shape{State: tally.Error, Reason: "TemplateNotFound", Since: now.Add(-20 * time.Minute), Desired: 1, Rollout: tally.RolloutStopped}
	waits.VMs[tally.VMRepairing] = 1
	stopped := tally.Shape{State: tally.Deleting, Reason: "MassDeletion"}
	stopped.Held[tally.HeldByMassDeletion] = true
	k.add(1, "m", "vc", "a", ready)
	k.add(2, "m", "vc", "b", waits)
	k.add(2, "m", "invented", "c", stopped)
	k.add(3, "m", "vc", "d", ready)

	total := map[string]float64{}
	for _, replica := range []held{{1}, {2, 3, 4}, {}} {
		for series, value := range gathered(t, Collector{k, replica, noon{}}) {
			total[series] += value
		}
	}
	want := map[string]float64{
		"vmgroup_groups{member=m,state=running,vcenter=vc}":             2,
		"vmgroup_groups{member=m,state=error,vcenter=vc}":               1,
		"vmgroup_groups{member=m,state=deleting,vcenter=Other}":         1,
		"vmgroup_groups_by_reason{reason=TemplateNotFound,vcenter=vc}":  1,
		"vmgroup_groups_by_reason{reason=MassDeletion,vcenter=Other}":   1,
		"vmgroup_groups_not_ready{longer_than=15m,member=m,vcenter=vc}": 1,
		"vmgroup_vms{member=m,state=ready,vcenter=vc}":                  4, "vmgroup_vms{member=m,state=repairing,vcenter=vc}": 1,
		"vmgroup_vms_desired{member=m,vcenter=vc}":           5,
		"vmgroup_groups_held{member=m,reason=mass_deletion}": 1,
		"vmgroup_rollouts{state=stopped,vcenter=vc}":         1,
	}
	if !maps.Equal(total, want) {
		t.Errorf("got  %v\nwant %v", total, want)
	}
	if none := gathered(t, Collector{k, held{}, noon{}}); len(none) > 0 {
		t.Errorf("a replica without buckets reports %v", none)
	}
}

// Each value of a label corresponds to the number that tallies count it by.
func TestLabelsFollowTheOrderOfTallies(t *testing.T) {
	for _, row := range []struct {
		values []string
		at     int
		want   string
	}{
		{metrics.GroupStates, int(tally.Running), "running"}, {metrics.GroupStates, int(tally.Pending), "pending"}, {metrics.GroupStates, int(tally.Error), "error"},
		{metrics.GroupStates, int(tally.Deleting), "deleting"}, {metrics.GroupStates, int(tally.Paused), "paused"}, {metrics.GroupStates, int(tally.Unattended), "unattended"},
		{metrics.VMStates, int(tally.VMReady), "ready"}, {metrics.VMStates, int(tally.VMStarting), "starting"}, {metrics.VMStates, int(tally.VMRepairing), "repairing"},
		{metrics.VMStates, int(tally.VMStopped), "stopped"}, {metrics.VMStates, int(tally.VMDeleting), "deleting"}, {metrics.VMStates, int(tally.VMLost), "lost"},
		{metrics.VMStates, int(tally.VMUnhealthy), "unhealthy"}, {metrics.VMStates, int(tally.VMFailed), "failed"},
		{metrics.HoldReasons, int(tally.HeldByMassDeletion), "mass_deletion"}, {metrics.HoldReasons, int(tally.HeldByRepair), "repair"},
		{metrics.HoldReasons, int(tally.HeldByForeignDisk), "foreign_disk"}, {metrics.HoldReasons, int(tally.HeldByPolicy), "policy"},
		{metrics.RolloutStates, int(tally.RolloutProgressing) - 1, "progressing"}, {metrics.RolloutStates, int(tally.RolloutPaused) - 1, "paused"},
		{metrics.RolloutStates, int(tally.RolloutStopped) - 1, "stopped"},
	} {
		if row.values[row.at] != row.want {
			t.Errorf("%v[%d] is %s, want %s", row.values, row.at, row.values[row.at], row.want)
		}
	}
	sum := tally.Sum{}
	if len(sum.Groups) != len(metrics.GroupStates) || len(sum.VMs) != len(metrics.VMStates) || len(sum.Held) != len(metrics.HoldReasons) ||
		len(sum.Rollouts) != len(metrics.RolloutStates)+1 || len(tally.Ages) != len(metrics.NotReadyFor) {
		t.Error("tallies and labels differ in number")
	}
	for i, age := range tally.Ages {
		if want, err := time.ParseDuration(metrics.NotReadyFor[i]); err != nil || want != age {
			t.Errorf("%s stands for %s", metrics.NotReadyFor[i], age)
		}
	}
	if metrics.Other != tally.OtherReason {
		t.Errorf("%q and %q are one label", metrics.Other, tally.OtherReason)
	}
}

// Users of members choose reasons and names of vCenters: they must not choose the number of series.
func TestUsersOfMembersMakeNoSeries(t *testing.T) {
	k := newKnown("vc")
	for i := range 500 {
		g := &v1alpha1.VmGroup{Status: v1alpha1.VmGroupStatus{Phase: v1alpha1.Phase(fmt.Sprint("P", i)), Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: fmt.Sprint("R", i), LastTransitionTime: metav1.NewTime(now)},
		}}}
		k.add(1, "m", fmt.Sprint("invented", i), fmt.Sprint(i), tally.Of(g))
	}
	all := gathered(t, Collector{k, held{1}, noon{}})
	if want := []string{"vmgroup_groups_by_reason{reason=Other,vcenter=Other}", "vmgroup_groups{member=m,state=pending,vcenter=Other}"}; !slices.Equal(slices.Sorted(maps.Keys(all)), want) {
		t.Errorf("got %v", all)
	}
}
