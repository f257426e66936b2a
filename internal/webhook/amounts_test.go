package webhook

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
)

// TestAnAmountThatCostsMuchIsNotComputed: Kubernetes' quantities compute a power of ten of an exponent when they are decoded, and nothing limits
// that.
func TestAnAmountThatCostsMuchIsNotComputed(t *testing.T) {
	doors, _ := handlers(t, knowledgeWith(), nil)
	const large = "1234567890123456789e9999999"
	limits := func(amount string) string { return `"spec":{"limits":{"memory":{"max":` + amount + `}}}` }
	for object, refused := range map[string]bool{
		limits(`"` + large + `"`):                     true,
		limits(`1234567890123456789E+9999999`):        true,
		limits(`" -1234567890123456789e9999999"`):     true,
		limits("\"\u00a0" + large + `"`):              true,
		limits(`"` + strings.Repeat("1", 1000) + `"`): true,
		`"spec":{"quota":{"memory":"` + large + `"}}`: true,
		`"spec":{"quota":{"memory":"1e1.5"}}`:         true,
		limits(`"10E"`):                               true,
		limits(`"8Gi"`):                               false,
		limits(`8e9`):                                 false,
		limits(`8589934592`):                          false,
		`"spec":{"quota":{"vms":10,"memory":"1Ti"}}`:  false,
	} {
		review := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","kind":{"group":"vm.codeconnect.vmworld.com","version":"v1alpha1",` +
			`"kind":"VmGroupPolicy"},"name":"n","operation":"CREATE","object":{"apiVersion":"vm.codeconnect.vmworld.com/v1alpha1","kind":"VmGroupPolicy","metadata":{"name":"n"},` + object + `}}}`
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, VmGroupPolicyPath, strings.NewReader(review))
		request.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		doors.Hub.ServeHTTP(answer, request)
		runtime.ReadMemStats(&after)
		if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 2 {
			t.Errorf("%s takes %d MiB", object, allocated)
		}
		if got := strings.Contains(answer.Body.String(), `"allowed":false`); got != refused || refused && !strings.Contains(answer.Body.String(), "memory") {
			t.Errorf("%s: %d %s", object, answer.Code, answer.Body)
		}
	}
}

// TestAnObjectOfAnotherKindIsNotDecoded: the kind in an object selects the type into which it is decoded, and each path checks
// its own kind for costly values.
func TestAnObjectOfAnotherKindIsNotDecoded(t *testing.T) {
	doors, _ := handlers(t, knowledgeWith(), func(o *Options) { o.Segments = segments(func(string, string) bool { return true }) })
	const spec = `{"limits":{"memory":{"max":"1234567890123456789e9999999"}}}`
	objects := []string{
		`"kind":"VmGroupPolicy","metadata":{"name":"n"},"spec":` + spec,
		`"kind":"VmGroupPolicyList","items":[{"metadata":{"name":"n"},"spec":` + spec + `}]`,
	}
	for _, path := range []struct {
		handler        http.Handler
		path, resource string
	}{
		{doors.Hub, VmGroupPolicyPath, "vmgrouppolicies"}, {doors.Hub, VCenterPath, "vcenters"}, {doors.Hub, MemberClusterPath, "memberclusters"},
		{doors.Members, MutatePath(testMember, testSegment), "vmgroups"}, {doors.Members, ValidatePath(testMember, testSegment), "vmgroups"},
	} {
		for _, object := range objects {
			for _, sub := range []string{"", "scale"} {
				review := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","name":"n","namespace":"apps","operation":"CREATE","subResource":"` + sub +
					`","resource":{"group":"vm.codeconnect.vmworld.com","version":"v1alpha1","resource":"` + path.resource + `"},"object":{"apiVersion":"vm.codeconnect.vmworld.com/v1alpha1",` + object + `}}}`
				request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path.path, strings.NewReader(review))
				request.Header.Set("Content-Type", "application/json")
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				path.handler.ServeHTTP(httptest.NewRecorder(), request)
				runtime.ReadMemStats(&after)
				if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 2 { // of the megabytes that the number needs
					t.Errorf("%s %s: %s takes %d MiB", path.path, sub, object, allocated)
				}
			}
		}
	}
}
