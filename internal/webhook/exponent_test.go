package webhook

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestAQuantityWithALargeExponentIsNotDecoded: whoever reaches the port could have the operator compute it, which nothing ends.
func TestAQuantityWithALargeExponentIsNotDecoded(t *testing.T) {
	doors, _ := handlers(t, knowledgeWith(), nil)
	for quantity, refused := range map[string]bool{
		`"1234567890123456789e9999999"`: true, `1234567890123456789E+9999999`: true, `" -1234567890123456789e9999999"`: true,
		`"8Gi"`: false, `8e3`: false, `"1e-3"`: false,
	} {
		review := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","kind":{"group":"vm.codeconnect.vmworld.com","version":"v1alpha1",` +
			`"kind":"VmGroupPolicy"},"name":"n","operation":"CREATE","object":{"apiVersion":"vm.codeconnect.vmworld.com/v1alpha1","kind":"VmGroupPolicy",` +
			`"metadata":{"name":"n"},"spec":{"templates":{"allow":["linux-1e2024"]},"limits":{"memory":{"max":` + quantity + `}}}}}}`
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, VmGroupPolicyPath, strings.NewReader(review))
		request.Header.Set("Content-Type", "application/json")
		answer, began := httptest.NewRecorder(), time.Now()
		doors.Hub.ServeHTTP(answer, request)
		if got := strings.Contains(answer.Body.String(), errExponent.Error()); got != refused {
			t.Errorf("%s: %d %s, in %s", quantity, answer.Code, answer.Body, time.Since(began))
		}
	}
}
