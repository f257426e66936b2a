package writebudget

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	written = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "vmgroup_hub_written_bytes_total",
		Help: "Bytes that this replica made the hub's etcd keep because of a member, by member and kind (record, ledger, receipt, event).",
	}, []string{"member", "kind"})
	waits = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "vmgroup_hub_write_wait_seconds_total",
		Help: "Time that writes on the hub have waited for a member's budget, by member. Writes that wait at the same time count one by one.",
	}, []string{"member"})
)

func init() { metrics.Registry.MustRegister(written, waits) }
