//go:build unix

package member

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
)

// renderedAdmission renders the operator's real objects, without a webhook.
type renderedAdmission struct {
	changed func()

	mu      sync.Mutex
	summary string
}

// summarize changes what is rendered from now on.
func (r *renderedAdmission) summarize(summary string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary = summary
}

func (r *renderedAdmission) OnChange(listener func())            { r.changed = listener }
func (r *renderedAdmission) CABundleHash(AdmissionTarget) string { return "" }

func (r *renderedAdmission) Objects(target AdmissionTarget) (AdmissionBundle, error) {
	result := AdmissionBundle{}
	for _, known := range objects.Known() {
		result.Known = append(result.Known, AdmissionObject{known.GroupVersionKind, known.Name})
	}
	if target.Leaving {
		return result, nil
	}
	r.mu.Lock()
	summary := r.summary
	r.mu.Unlock()
	bundle, err := objects.Render(objects.Input{
		Limits: v1alpha1.VmGroupLimitsSpec{Member: target.Name, Summary: summary}, Member: target.Name,
		FailurePolicy: target.FailurePolicy, Exempt: target.Exempt, ServesMutatingPolicies: target.ServesMutatingPolicies,
	})
	result.Objects, result.CABundleHash, result.NoWebhook = bundle.Objects, bundle.CABundleHash, bundle.NoWebhook
	return result, err
}

// Only the operator may write the limits, and it knows by its username who that is: a new one has to get in.
func TestAnotherUsernameTakesOverWhatOnlyTheOperatorMayWrite(t *testing.T) {
	servers := clustersForTest(t)
	rendered := &renderedAdmission{summary: "before"}
	in := install(t, servers.hub, "usernames", func(o *Options) { o.Admission = rendered })
	member := directClient(t, servers.alpha.Config)
	before, revoke := grant(t, servers.alpha, "username-before")
	after, _ := grant(t, servers.alpha, "username-after")
	in.join("alpha", before)
	in.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonNoWebhook)
	eventually(t, "protection of VmGroupLimits", func() error {
		limits := admissionObject(t, member, "VmGroupLimits")
		limits.SetAnnotations(map[string]string{"written-by": "somebody"})
		if err := member.Update(t.Context(), limits, client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("somebody may write the limits: %w", errors.Join(err, errors.New("not forbidden")))
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
