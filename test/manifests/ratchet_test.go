package manifests

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// checkOldServer stores a VCenter whose server has a path that the last release accepted. It can be edited, but not
// set to another such server.
func checkOldServer(t *testing.T, c client.Client) {
	key := client.ObjectKey{Name: "vcenters." + v1alpha1.GroupVersion.Group}
	rules := func(set func(server *apiextensionsv1.JSONSchemaProps)) {
		await.NoError(t, "the CRD of VCenters to be written", func() error {
			definition := &apiextensionsv1.CustomResourceDefinition{}
			if err := c.Get(t.Context(), key, definition); err != nil {
				return err
			}
			spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
			server := spec.Properties["server"]
			set(&server)
			spec.Properties["server"] = server
			return c.Update(t.Context(), definition)
		})
	}
	var today apiextensionsv1.ValidationRules
	rules(func(server *apiextensionsv1.JSONSchemaProps) { today, server.XValidations = server.XValidations, nil })
	old := func() *v1alpha1.VCenter {
		return &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "old"}, Spec: v1alpha1.VCenterSpec{
			Server: "https://vcenter.example/old/sdk", CredentialsSecretRef: v1alpha1.LocalObjectReference{Name: "credentials"},
		}}
	}
	await.NoError(t, "a server with another path to be stored", func() error { return c.Create(t.Context(), old()) })
	rules(func(server *apiextensionsv1.JSONSchemaProps) { server.XValidations = today })
	other := old()
	other.Name = "other"
	await.True(t, "such a server to be refused", func() bool { return apierrors.IsInvalid(c.Create(t.Context(), other, client.DryRunAll)) })

	stored := old()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); err != nil {
		t.Fatal(err)
	}
	stored.Spec.Datacenter = "dc-1"
	if err := c.Update(t.Context(), stored); err != nil {
		t.Errorf("an edit of something else is refused: %v", err)
	}
	stored.Spec.Server = "https://vcenter.example/another/sdk"
	if err := c.Update(t.Context(), stored); !apierrors.IsInvalid(err) {
		t.Errorf("another such server: %v, want it refused", err)
	}
	stored.Spec.Server = "https://vcenter.example/sdk"
	if err := c.Update(t.Context(), stored); err != nil {
		t.Errorf("a server of today is refused: %v", err)
	}
}
