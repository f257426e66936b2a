package vmgroup

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

func TestAVCenterThatIsAboutToGoServesItsGroupsAndTakesNoNewOne(t *testing.T) {
	refused := metav1.Condition{Type: v1alpha1.ConditionCredentialsValid, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonInvalidLogin}
	for _, test := range []struct {
		story, reason string
		change        func(*v1alpha1.VCenter)
	}{
		{"deleted", v1alpha1.ReasonVCenterTerminating, func(v *v1alpha1.VCenter) {
			v.DeletionTimestamp, v.Finalizers = &metav1.Time{Time: noon}, []string{v1alpha1.VCenterFinalizer}
		}},
		{"a wrong password", v1alpha1.ReasonInvalidLogin, func(v *v1alpha1.VCenter) {
			v.Status.Conditions = []metav1.Condition{refused}
		}},
	} {
		t.Run(test.story, func(t *testing.T) {
			about := func() client.Reader {
				vcenter := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
				test.change(vcenter)
				return clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).
					WithObjects(vcenter, &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LocalMember}}).Build()
			}
			r := newRig(t)
			r.Hub = about()
			g := r.work()
			if len(r.vcenter.Journal()) != 0 {
				t.Errorf("a new group was acted on: %v", r.vcenter.Journal())
			}
			if message := says(t, g, v1alpha1.ConditionStalled, metav1.ConditionTrue, test.reason); !strings.Contains(message, "default") || !strings.Contains(message, "hub administrator") {
				t.Errorf("message %q", message)
			}
			if err := r.member.Delete(t.Context(), g); err != nil {
				t.Fatal(err)
			}
			r.mustPass()
			r.mustPass()
			if err := r.member.Get(t.Context(), r.request.NamespacedName, g); !apierrors.IsNotFound(err) {
				t.Errorf("the group that was not taken cannot be deleted: %v", err)
			}

			r = newRig(t)
			r.settle()
			r.Hub = about()
			r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
			if r.work(); len(r.vcenter.Calls(vsphere.OpClone)) != 3 {
				t.Errorf("a group that is there was not served: %v", r.vcenter.Journal())
			}
		})
	}
}
