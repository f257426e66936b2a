package quota

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var writes = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "vmgroup_quota_ledger_writes_total",
	Help: "Writes of the ledger of quotas by this replica, those that met with a conflict included.",
})

func init() { metrics.Registry.MustRegister(writes) }
