package operator

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member"
	policycontroller "github.com/codeconnect/vmgroup-operator/internal/controller/policy"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vcenter"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup"
	"github.com/codeconnect/vmgroup-operator/internal/groupmetrics"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotametrics"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/callmetrics"
)

// TestAllCollectorsFitIntoOneRegistry, and several managers into one process: each has its own registry.
func TestAllCollectorsFitIntoOneRegistry(t *testing.T) {
	for range 2 {
		registry, follows := prometheus.NewPedanticRegistry(), shardingtest.Leader(false)
		if _, err := callmetrics.New(registry); err != nil {
			t.Error(err)
		}
		if _, err := groupmetrics.New(registry); err != nil {
			t.Error(err)
		}
		if _, err := quotametrics.New(registry); err != nil {
			t.Error(err)
		}
		of := views{&vcenter.Reconciler{}, &member.Reconciler{}, &policycontroller.Reconciler{}, &quota.Ledger{}, &vmgroup.Reconciler{}}
		if err := registerViews(registry, &follows, of); err != nil {
			t.Error(err)
		}
		if _, err := registry.Gather(); err != nil {
			t.Error(err)
		}
	}
}
