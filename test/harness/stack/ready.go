//go:build unix

package stack

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// IsReady reports whether condition Ready is True.
func IsReady(conditions []metav1.Condition) bool {
	return meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady)
}

// Words formats conditions for a failed test.
func Words(conditions []metav1.Condition) string {
	all := make([]string, 0, len(conditions))
	for _, c := range conditions {
		all = append(all, fmt.Sprintf("%s=%s/%s (%s)", c.Type, c.Status, c.Reason, c.Message))
	}
	return strings.Join(all, "; ")
}
