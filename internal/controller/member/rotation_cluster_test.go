//go:build unix && !fast

package member

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// Only the operator can write the limits, and the policy identifies it by its username: a new username must
// get access.
func TestAnotherUsernameTakesOverWhatOnlyTheOperatorMayWrite(t *testing.T) {
	servers := clustersForTest(t)
	rendered := &renderedAdmission{summary: "before"}
	in := installed(t, servers.hub, "usernames", func(o *testOptions) { o.admission = rendered })
	member := directClient(t, servers.alpha.Config)
	before, revoke := grant(t, servers.alpha, "username-before")
	after, _ := grant(t, servers.alpha, "username-after")
	in.join("alpha", before)
	in.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonNoWebhook)
	await.NoError(t, "protection of VmGroupLimits", func() error {
		limits := admissionObject(t, member, "VmGroupLimits")
		limits.SetAnnotations(map[string]string{"written-by": "another-writer"})
		if err := member.Update(t.Context(), limits, client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("another user can write the limits: %w", errors.Join(err, errors.New("not forbidden")))
		}
		return nil
	})
	revoke()
	rendered.summarize("after")
	in.putKubeconfig("alpha", after)
	awaitObject(t, member, "VmGroupLimits", func(object *unstructured.Unstructured) bool {
		summary, _, _ := unstructured.NestedString(object.Object, "spec", "summary")
		return summary == "after"
	})
	in.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonNoWebhook)
}
