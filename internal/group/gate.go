package group

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// gateOf returns the readiness gate that a status records.
func gateOf(status *v1alpha1.VmGroupStatus) plan.Gate {
	if g := status.ReadinessGate; g != nil {
		return plan.Gate{Name: g.Name, Since: g.Since.Time}
	}
	return plan.Gate{}
}

// recordedGate returns the record for status of a readiness gate.
func recordedGate(g plan.Gate) *v1alpha1.JudgingGate {
	if g == (plan.Gate{}) {
		return nil
	}
	return &v1alpha1.JudgingGate{Name: g.Name, Since: metav1.NewTime(g.Since.Truncate(time.Second))}
}
