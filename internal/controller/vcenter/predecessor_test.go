package vcenter

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestWhetherThePredecessorIsGoneIsSaidWhileOneIsNamed(t *testing.T) {
	vc := vcenterForTest()
	vc.Annotations = map[string]string{v1alpha1.PredecessorAnnotation: "old"}
	for _, c := range []struct {
		story  string
		health vsphere.Health
		status metav1.ConditionStatus
		words  string
	}{
		{"no search yet", vsphere.Health{}, "Unknown", "has not searched yet"},
		{"it lives", vsphere.Health{PredecessorProblem: "installation old has 1 session"}, "False", "No VM is stamped anew: installation old has 1 session"},
		{"no sign of the predecessor", vsphere.Health{Predecessor: "old"}, "True", "Remove the annotation"},
		{"no sign of the predecessor that was named before", vsphere.Health{Predecessor: "older"}, "Unknown", "has not searched yet"},
	} {
		t.Run(c.story, func(t *testing.T) {
			vc.Status = newStatus(vc, look{health: c.health}, time.Now())
			got := meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionPredecessorGone)
			if got == nil || got.Status != c.status || !strings.Contains(got.Message, c.words) {
				t.Errorf("said %+v", got)
			}
		})
	}
	vc.Annotations = nil
	if status := newStatus(vc, look{}, time.Now()); meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionPredecessorGone) != nil {
		t.Errorf("without a named predecessor, status has conditions %+v", status.Conditions)
	}
}
