package effect

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// actionsTotal counts actions. Its labels are bounded: kinds of actions, two results.
var actionsTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "vmgroup_actions_total",
	Help: "Actions submitted to vCenters, by kind and by whether the vCenter accepted or refused them.",
}, []string{"action", "result"})

// vmsDestroyed counts VMs that vCenter was asked to destroy, which cannot be undone.
var vmsDestroyed = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "vmgroup_vms_destroyed_total",
	Help: "VMs that vCenter was asked to destroy, by member, vCenter and cause (" + strings.Join(causes(), ", ") + ").",
}, []string{"member", "vcenter", "reason"})

func causes() []string {
	names := make([]string, 0, len(plan.RemovalCauses))
	for _, cause := range plan.RemovalCauses {
		names = append(names, string(cause))
	}
	return names
}

func init() { metrics.Registry.MustRegister(actionsTotal, vmsDestroyed) }
