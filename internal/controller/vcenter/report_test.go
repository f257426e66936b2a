package vcenter

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// An administrator who deletes a VCenter waits for its groups. The log has an error for what a person has to correct.
func TestAVCenterWhoseDeletionWaitsIsNoError(t *testing.T) {
	for reason, isError := range map[string]bool{v1alpha1.ReasonInUse: false, v1alpha1.ReasonConnecting: false, v1alpha1.ReasonInvalidLogin: true} {
		errorLines := 0
		ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) {
			if !strings.HasPrefix(line, `"level"`) { // funcr's lines of Info
				errorLines++
			}
		}, funcr.Options{}))
		recorder := events.NewFakeRecorder(2)
		r := &Reconciler{Events: recorder}
		r.report(ctx, &v1alpha1.VCenter{}, nil, []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason}})
		if event := <-recorder.Events; strings.HasPrefix(event, "Warning") != isError || errorLines > 0 != isError {
			t.Errorf("%s: event %q and %d lines at level error; want an error: %t", reason, event, errorLines, isError)
		}
	}
}
