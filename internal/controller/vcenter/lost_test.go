package vcenter

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

// A vCenter is permanently lost and its VCenter is deleted. Its status counts VMs whose removal cannot be
// observed.
func TestAVCenterThatIsGoneForGoodGoesOnceItsGroupsAreForgotten(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for story, c := range map[string]struct {
		since, until time.Time
		groups       int
		unknown      bool
		goes         bool
	}{
		"unreachable for a day, and a word": {since: now.Add(-group.ForgetAfter), until: now.Add(time.Hour), goes: true},
		"not for a day":                     {since: now.Add(time.Minute - group.ForgetAfter), until: now.Add(time.Hour)},
		"no word":                           {since: now.Add(-group.ForgetAfter)},
		"a word that is over":               {since: now.Add(-group.ForgetAfter), until: now},
		"it has groups":                     {since: now.Add(-group.ForgetAfter), until: now.Add(time.Hour), groups: 1},
		"its groups are unknown":            {since: now.Add(-group.ForgetAfter), until: now.Add(time.Hour), unknown: true},
	} {
		t.Run(story, func(t *testing.T) {
			vc := vcenterForTest()
			vc.Finalizers, vc.DeletionTimestamp = []string{v1alpha1.VCenterFinalizer}, &metav1.Time{Time: now}
			if !c.until.IsZero() {
				vc.Annotations = map[string]string{v1alpha1.AllowForgetAnnotation: c.until.Format(time.RFC3339)}
			}
			vc.Status.Conditions = []metav1.Condition{{
				Type: v1alpha1.ConditionReachable, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonUnreachable, LastTransitionTime: metav1.NewTime(c.since),
			}}
			credentials := secret("username", "u", "password", "p", "VC_HOST", "vc.example.com")
			credentials.Namespace = "operator"
			hub := clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithStatusSubresource(vc).WithObjects(vc, credentials).Build()
			connection := &connectionForTest{name: "dialed", diary: &diary{}, release: make(chan struct{})}
			close(connection.release)
			connection.becomes(failing(vsphere.KindTransient))
			r := &Reconciler{
				Client: hub, Pool: NewPool(), Groups: &groupsForTest{count: c.groups, unknown: c.unknown}, Namespace: "operator",
				Now: func() time.Time { return now }, Events: events.NewFakeRecorder(10), Dial: func(Config, vsphere.Notifier) Connection { return connection },
			}
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: vc.Name}}); err != nil {
				t.Fatal(err)
			}
			if err := hub.Get(t.Context(), types.NamespacedName{Name: vc.Name}, vc); apierrors.IsNotFound(err) != c.goes {
				t.Errorf("%v", err)
			}
		})
	}
}
