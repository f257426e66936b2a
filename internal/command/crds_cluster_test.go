//go:build unix && !fast

package command

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/crds"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// runCRDs runs a command as a user with the permissions of the chart's Job.
func runCRDs(t *testing.T, admin client.Client, run func(context.Context, client.Client, *strings.Builder) error) (string, error) {
	t.Helper()
	server, _ := realHub(t)
	const user = "crds-job"
	names := make([]string, 0, len(crd.Hub()))
	for _, definition := range crd.Hub() {
		names = append(names, definition.Name)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"create"}},
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: names, Verbs: []string{"get", "update", "patch", "delete"}},
		{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"vmgroups", "vmgrouplimits", "memberclusters", "vcenters", "vmgrouppolicies"}, Verbs: []string{"list"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
	}
	for _, object := range []client.Object{role, binding} {
		if err := admin.Create(t.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	hub, err := client.New(server.UserConfig(t, user), client.Options{Scheme: admin.Scheme(), Mapper: crds.Mapper()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out := &strings.Builder{}
	err = run(ctx, hub, out)
	return out.String(), err
}

func mustRunCRDs(t *testing.T, admin client.Client, run func(context.Context, client.Client, *strings.Builder) error, says ...string) {
	t.Helper()
	said, err := runCRDs(t, admin, run)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range says {
		if !strings.Contains(said, want) {
			t.Errorf("it says\n%swhich lacks %q", said, want)
		}
	}
}

// TestCRDsAreInstalledUpgradedAndRemoved covers the life of an installation.
func TestCRDsAreInstalledUpgradedAndRemoved(t *testing.T) {
	_, admin := realHub(t)
	mustRunCRDs(t, admin, remove) // left over from other tests
	mustRunCRDs(t, admin, remove, policyCRD+" is not there")
	mustRunCRDs(t, admin, apply, crd.VmGroupName+" installed, version "+strconv.Itoa(crd.Version))
	for _, wanted := range crd.Hub() {
		if installed := storedCRD(t, admin, wanted.Name); !crds.IsEstablished(installed) || crds.VersionOf(installed) < 1 {
			t.Errorf("%s is not established, or has no version", wanted.Name)
		}
	}
	before := storedCRD(t, admin, policyCRD).ResourceVersion
	mustRunCRDs(t, admin, apply, policyCRD+" is up to date")
	if after := storedCRD(t, admin, policyCRD).ResourceVersion; after != before {
		t.Error("a CRD that is up to date was written")
	}

	// A CRD of another installer: without our annotations, and with a column that this release does not have.
	editCRD(t, admin, policyCRD, func(old *apiextensionsv1.CustomResourceDefinition) {
		delete(old.Annotations, crd.VersionAnnotation)
		delete(old.Annotations, crd.HashAnnotation)
		old.Labels = map[string]string{"team": "platform"}
		old.Spec.Versions[0].AdditionalPrinterColumns = append(old.Spec.Versions[0].AdditionalPrinterColumns,
			apiextensionsv1.CustomResourceColumnDefinition{Name: "Old", Type: "string", JSONPath: ".metadata.name"})
	})
	mustRunCRDs(t, admin, apply, policyCRD+" upgraded to version "+strconv.Itoa(crd.VmGroupPolicyVersion))
	upgraded := storedCRD(t, admin, policyCRD)
	for _, column := range upgraded.Spec.Versions[0].AdditionalPrinterColumns {
		if column.Name == "Old" {
			t.Error("what another tool had installed outlives the upgrade")
		}
	}
	if upgraded.Labels["team"] != "platform" || crds.VersionOf(upgraded) != crd.VmGroupPolicyVersion {
		t.Errorf("after the upgrade: labels %v, annotations %v", upgraded.Labels, upgraded.Annotations)
	}

	// A CRD of a later release, before it was rolled back.
	editCRD(t, admin, policyCRD, func(later *apiextensionsv1.CustomResourceDefinition) {
		later.Annotations[crd.VersionAnnotation] = "99"
		later.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["later"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	})
	mustRunCRDs(t, admin, apply, policyCRD+" stays at version 99")
	if _, ok := storedCRD(t, admin, policyCRD).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["later"]; !ok {
		t.Error("a field of a later release was taken away")
	}

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "crds"}}
	group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "crds", Name: "web"}, Spec: v1alpha1.VmGroupSpec{
		CPU: 1, Memory: 128, Template: "small",
	}}
	if err := admin.Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) { // by an earlier run
		t.Fatal(err)
	}
	await.NoError(t, "a group", func() error { // a kind is served a moment after its CRD is established
		return admin.Create(t.Context(), group)
	})
	foreign := editCRD(t, admin, "vcenters.vm.codeconnect.vmworld.com", func(foreign *apiextensionsv1.CustomResourceDefinition) {
		delete(foreign.Annotations, crd.VersionAnnotation)
	})
	mustRunCRDs(t, admin, remove, crd.VmGroupName+` stays: there are objects of it, for example "crds/web"`,
		foreign.Name+" stays: this operator did not install it", policyCRD+" removed", crd.VmGroupLimitsName+" removed")
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(group), group); err != nil {
		t.Errorf("the group was deleted: %v", err)
	}
	mustRunCRDs(t, admin, apply, policyCRD+" installed", foreign.Name+" upgraded")
	if err := admin.Delete(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	mustRunCRDs(t, admin, remove, crd.VmGroupName+" removed")
}

// Helm applies the CRDs of a chart that it installs, whatever exists. If Helm alone had installed the newer ones, only the
// operator's share of the stamp makes it stop.
func TestHelmCannotPutOlderCRDsOverNewerOnes(t *testing.T) {
	_, admin := realHub(t)
	asHelm := func(version int) error {
		definition := crd.VmGroupCRD()
		definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		definition.Annotations = map[string]string{crd.VersionAnnotation: strconv.Itoa(version)}
		content, err := json.Marshal(definition)
		if err != nil {
			t.Fatal(err)
		}
		return admin.Patch(t.Context(), definition, client.RawPatch(types.ApplyYAMLPatchType, content), client.FieldOwner("helm"))
	}
	mustRunCRDs(t, admin, remove)
	if err := asHelm(crd.Version); err != nil {
		t.Fatal(err)
	}
	mustRunCRDs(t, admin, apply)
	if err := asHelm(crd.Version); err != nil {
		t.Errorf("the same chart again: %v", err)
	}
	if err := asHelm(crd.Version - 1); !apierrors.IsConflict(err) {
		t.Errorf("an older chart: %v, want a conflict", err)
	}
	if got := crds.VersionOf(storedCRD(t, admin, crd.VmGroupName)); got != crd.Version {
		t.Errorf("the CRD has version %d, want %d", got, crd.Version)
	}
	mustRunCRDs(t, admin, remove)
}
