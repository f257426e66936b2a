package effect

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// TestTheLogSaysErrorOnlyWhereAPersonHasToAct and events are written in any case.
func TestTheLogSaysErrorOnlyWhereAPersonHasToAct(t *testing.T) {
	var errorLines []string
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) {
		if !strings.HasPrefix(line, `"level"`) { // funcr's lines of Info
			errorLines = append(errorLines, line)
		}
	}, funcr.Options{}))
	s := &group.Snapshot{Group: &v1alpha1.VmGroup{}}
	recorder := events.NewFakeRecorder(10)
	p := &Pass{Events: recorder}
	p.emit(ctx, s, []group.Event{
		{Type: corev1.EventTypeWarning, Reason: v1alpha1.EventVMsLost, Action: "Observe", Handled: true},
		{Type: corev1.EventTypeNormal, Reason: v1alpha1.EventVMsCreated, Action: "Clone"},
	})
	gone := &vsphere.Error{Kind: vsphere.KindNotFound, Object: vsphere.VMRef("vm-1"), Err: errors.New("managed object not found")}
	logRefusal(ctx, s, plan.Action{Kind: plan.DestroyVM, MoRef: "vm-1"}, gone)
	logRefusal(ctx, s, plan.Action{Kind: plan.PowerOnVM, MoRef: "vm-2"}, &vsphere.Error{Kind: vsphere.KindFenced, Err: errors.New("another replica may act")})
	logRefusal(ctx, s, plan.Action{Kind: plan.CreateVM}, &vsphere.Error{Kind: vsphere.KindTransient, Err: errors.New("folder group-v9 is being looked up")})
	logFailure(ctx, fmt.Errorf("get: %w", memberapi.ErrEnded), "The CRD of the group was not read")
	logFailure(ctx, &vsphere.Error{Kind: vsphere.KindNotEmpty, Err: errors.New("holds 1 object")}, "The folder of the group was not removed")
	if len(errorLines) > 0 {
		t.Errorf("what the operator handles is logged as %q", errorLines)
	}
	p.emit(ctx, s, []group.Event{{Type: corev1.EventTypeWarning, Reason: v1alpha1.ReasonVMsLost, Action: "Reconcile"}})
	logRefusal(ctx, s, plan.Action{Kind: plan.DestroyVM, MoRef: "vm-2"}, gone)
	if len(errorLines) != 2 {
		t.Errorf("lines at level error are %q, want two", errorLines)
	}
	if n := len(recorder.Events); n != 3 {
		t.Errorf("%d events were written, want 3", n)
	}
}
