//go:build unix

package admission

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// TestAGroupItsNamespaceAndItsCRDAreGuarded covers members of each Kubernetes version. Package objects tests the
// guards' messages.
func TestAGroupItsNamespaceAndItsCRDAreGuarded(t *testing.T) {
	stack.Story(t)
	p := newPlace(t, "team-a", "guarded", nil)
	group := p.group("kept", 1, func(g *v1alpha1.VmGroup) { g.Spec.DeletionProtection = v1alpha1.DeletionProtectionEnabled })
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd.VmGroupName}}
	await.NoError(t, "the namespace to be deletable", func() error { return p.Delete(t.Context(), namespace.DeepCopy(), client.DryRunAll) })
	p.apply(group)
	// An API server learns of a new object as a parameter a moment later.
	await.Until(t, "the namespace to be guarded", func(ctx context.Context) (bool, error) {
		return forbidden(p.Delete(ctx, namespace.DeepCopy(), client.DryRunAll))
	})
	refused(t, p.Delete(t.Context(), namespace.DeepCopy(), client.DryRunAll), "VmGroup kept has spec.deletionProtection Enabled", "kubectl annotate namespace guarded")
	refused(t, p.Delete(t.Context(), group.DeepCopy()), "kubectl patch vmgroup kept -n guarded")
	refused(t, p.DeleteAllOf(t.Context(), &v1alpha1.VmGroup{}, client.InNamespace(p.namespace)), "kubectl patch vmgroup kept -n guarded")
	refused(t, p.Delete(t.Context(), definition.DeepCopy()), "kubectl annotate crd "+crd.VmGroupName)

	// A namespace that is being deleted anyway waits for the group, and for a user.
	confirmNamespace := func(uid string) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.ConfirmDeletionAnnotation, uid)
		if err := p.Patch(t.Context(), namespace.DeepCopy(), client.RawPatch("application/merge-patch+json", patch)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); err != nil {
		t.Fatal(err)
	}
	confirmNamespace(string(namespace.UID))
	await.NoError(t, "the confirmed namespace to be deleted", func() error { return p.Delete(t.Context(), namespace.DeepCopy()) })
	confirmNamespace("another-uid")
	await.Until(t, "the group to be kept in the namespace that goes", func(ctx context.Context) (bool, error) {
		return forbidden(p.Delete(ctx, group.DeepCopy(), client.DryRunAll))
	})
	confirmNamespace(string(namespace.UID))
	await.NoError(t, "the group to go with its namespace", func() error { return client.IgnoreNotFound(p.Delete(t.Context(), group.DeepCopy())) })
}

// forbidden reports whether a call was rejected; any other error is one.
func forbidden(err error) (bool, error) {
	if apierrors.IsForbidden(err) {
		return true, nil
	}
	return false, err
}
