package vcentermetrics_test

import (
	"maps"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/controller/vcenter/vcentermetrics"
	"github.com/codeconnect/vmgroup-operator/internal/metrics/metricstest"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

type seen []vcentermetrics.VCenter

func (s seen) Seen() []vcentermetrics.VCenter { return s }

type leads bool

func (l leads) Leading() bool { return bool(l) }

type noon struct{}

func (noon) Now() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }

func TestEachReplicaReportsItsViewAndTheLeaderWhatBelongsToNoGroup(t *testing.T) {
	all := seen{
		{
			Name: "vc-1", Reason: "Connected", Reachable: true, Complete: true, VMs: 7, Orphaned: 2, Released: 1,
			Load: &vsphere.Load{Held: 3, Waiting: 4, Limit: 8, Oldest: noon{}.Now().Add(-time.Minute)},
		},
		{Name: "vc-2", Reason: "InvalidLogin"},
		{Name: "vc-3"},
	}
	want := map[string]float64{
		`vmgroup_vcenter_up{vcenter="vc-1"}`:                           1,
		`vmgroup_vcenter_up{vcenter="vc-2"}`:                           0,
		`vmgroup_vcenter_up{vcenter="vc-3"}`:                           0,
		`vmgroup_vcenter_inventory_complete{vcenter="vc-1"}`:           1,
		`vmgroup_vcenter_inventory_complete{vcenter="vc-2"}`:           0,
		`vmgroup_vcenter_inventory_complete{vcenter="vc-3"}`:           0,
		`vmgroup_vcenter_status{reason="Connected",vcenter="vc-1"}`:    1,
		`vmgroup_vcenter_status{reason="InvalidLogin",vcenter="vc-2"}`: 1,
		`vmgroup_vcenter_vms{vcenter="vc-1"}`:                          7,
		`vmgroup_vcenter_tasks{state="running",vcenter="vc-1"}`:        3,
		`vmgroup_vcenter_tasks{state="waiting",vcenter="vc-1"}`:        4,
		`vmgroup_vcenter_task_limit{vcenter="vc-1"}`:                   8,
		`vmgroup_vcenter_task_oldest_seconds{vcenter="vc-1"}`:          60,
	}
	if got := metricstest.Collected(t, vcentermetrics.Collector{VCenters: all, Leader: leads(false), Clock: noon{}}); !maps.Equal(got, want) {
		t.Errorf("a replica that does not lead reports %v", got)
	}
	want[`vmgroup_orphaned_vms{vcenter="vc-1"}`], want[`vmgroup_released_vms{vcenter="vc-1"}`] = 2, 1
	if got := metricstest.Collected(t, vcentermetrics.Collector{VCenters: all, Leader: leads(true), Clock: noon{}}); !maps.Equal(got, want) {
		t.Errorf("the leader reports %v", got)
	}
}
