package admission

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
)

func TestAdmissionIsReadyOnceDefaultsAreInPlace(t *testing.T) {
	for _, c := range []struct {
		story     string
		noWebhook string
		serves    bool
		lag       time.Duration
		status    metav1.ConditionStatus
		reason    string
		says      string
	}{
		{"policies and webhook", "", true, 0, metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled, "are in place"},
		{"the webhook fills in until the policy comes", "", true, time.Second, metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled, "are in place"},
		{"the webhook alone", "", false, 0, metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled, "are in place"},
		{"policies alone", "No URL.", true, 0, metav1.ConditionTrue, v1alpha1.ReasonNoWebhook, "The webhook is not: No URL."},
		{"the policy has to wait", "No URL.", true, 7 * time.Second, metav1.ConditionFalse, v1alpha1.ReasonDefaultsPending, "It follows in 7s."},
		{"nothing ever does", "No URL.", false, 7 * time.Second, metav1.ConditionTrue, v1alpha1.ReasonNoWebhook, "Nothing fills in defaults"},
	} {
		got := installedFinding(install.Bundle{NoWebhook: c.noWebhook}, c.serves, c.lag)
		if got.Status != c.status || got.Reason != c.reason || !strings.Contains(got.Message, c.says) {
			t.Errorf("%s: %+v", c.story, got)
		}
		k := &keeping{Keeper: &Keeper{of: &settings.Target{}}, serves: c.serves, schemaLag: c.lag}
		kept := k.compare(t.Context(), install.Bundle{NoWebhook: c.noWebhook}).Finding
		if kept.Status != c.status || kept.Reason != v1alpha1.ReasonAdmissionNotManaged || !strings.Contains(kept.Message, c.says) {
			t.Errorf("%s, and the operator does not manage the objects: %+v", c.story, kept)
		}
	}
}
