package vcenter

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestAnAllowanceOfAVCenterThatDoesNotCountIsTold(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for story, next := range map[string]func(*v1alpha1.VCenter) v1alpha1.VCenterStatus{
		"the VCenter is checked": func(vc *v1alpha1.VCenter) v1alpha1.VCenterStatus { return newStatus(vc, look{}, now) },
		"the VCenter is blocked": func(vc *v1alpha1.VCenter) v1alpha1.VCenterStatus {
			return blockedStatus(vc, look{}, v1alpha1.ReasonSecretNotFound, "the Secret was deleted", now)
		},
	} {
		vc := vcenterForTest()
		for _, c := range []struct{ value, want string }{
			{"tomorrow", "kubectl annotate vcenter " + vc.Name + " " + v1alpha1.AllowForgetAnnotation + "="},
			{now.Add(24 * time.Hour).Format(time.RFC3339), "allows nothing before 2026-01-03T11:00:00Z"},
			{now.Add(time.Hour).Format(time.RFC3339), ""},
			{now.Add(-time.Hour).Format(time.RFC3339), ""},
		} {
			vc.Annotations = map[string]string{v1alpha1.AllowForgetAnnotation: c.value}
			vc.Status = next(vc)
			is := meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionInvalidAllowances)
			if (is != nil) != (c.want != "") || is != nil && (is.Status != metav1.ConditionTrue || is.Reason != v1alpha1.ReasonAllowanceInvalid || !strings.Contains(is.Message, c.want)) {
				t.Errorf("%s, %s: the condition is %+v", story, c.value, is)
			}
		}
	}
}
