package quota

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	writes = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "vmgroup_quota_ledger_writes_total",
		Help: "Writes of the ledgers of quotas by this replica, those that met with a conflict included.",
	})
	heldByVCenter = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "vmgroup_quota_groups_held_by_vcenter",
		Help: "Groups that are gone and count in quotas still, since this VCenter cannot be looked at. Only the leader tells.",
	}, []string{"vcenter"})
)

func init() { metrics.Registry.MustRegister(writes, heldByVCenter) }
