//go:build unix

package rbac

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/renewal"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

const (
	runtimeUser   = "system:serviceaccount:vmgroup-operator:vmgroup-operator-member"
	bootstrapUser = "system:serviceaccount:vmgroup-operator:vmgroup-operator-bootstrap"
	hubUser       = "system:serviceaccount:vmgroup-operator-system:vmgroup-operator"
)

// access is a query to the API server: can a user do verb to a resource?
type access struct {
	verb, group, resource, subresource, namespace, name string
}

func (a access) String() string {
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s.%s %s %s/%s", a.verb, a.resource, a.group, a.subresource, a.namespace, a.name)), " ")
}

// may asks as `kubectl auth can-i` does.
func may(t *testing.T, username string, a access) bool {
	t.Helper()
	return mayAt(t, administrator(t), username, a)
}

func mayAt(t *testing.T, admin client.Client, username string, a access) bool {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: username, Groups: []string{"system:serviceaccounts", "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: a.verb, Group: a.group, Resource: a.resource, Subresource: a.subresource, Namespace: a.namespace, Name: a.name,
		},
	}}
	if err := admin.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

const (
	webhookGroup = "admissionregistration.k8s.io"
	crdGroup     = "apiextensions.k8s.io"
	ourGroup     = "vm.codeconnect.vmworld.com"
)

// outOfReach are the permissions that neither identity has.
func outOfReach() []access {
	var all []access
	for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete"} {
		all = append(all,
			access{verb: verb, resource: "secrets", namespace: "default", name: "any"},
			access{verb: verb, resource: "secrets", namespace: "kube-system"},
			access{verb: verb, resource: "pods", namespace: "default"},
			access{verb: verb, resource: "serviceaccounts", subresource: "token", namespace: "vmgroup-operator", name: "vmgroup-operator-bootstrap"},
			access{verb: verb, group: "rbac.authorization.k8s.io", resource: "clusterroles", name: "cluster-admin"},
			access{verb: verb, group: "rbac.authorization.k8s.io", resource: "clusterrolebindings"},
			access{verb: verb, resource: "configmaps", namespace: "default", name: "any"})
		for _, resource := range []string{
			"validatingwebhookconfigurations", "mutatingwebhookconfigurations", "validatingadmissionpolicies",
			"validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
		} {
			all = append(all, access{verb: verb, group: webhookGroup, resource: resource, name: "of-another-owner"},
				access{verb: verb, group: webhookGroup, resource: resource})
		}
	}
	for _, verb := range []string{"get", "list", "watch", "update", "patch", "delete", "deletecollection"} {
		all = append(all, access{verb: verb, group: crdGroup, resource: "customresourcedefinitions", name: "certificates.cert-manager.io"})
	}
	for _, verb := range []string{"list", "watch", "update", "patch", "delete"} {
		all = append(all, access{verb: verb, resource: "configmaps", namespace: "kube-system", name: "extension-apiserver-authentication"})
	}
	return append(all,
		access{verb: "get", resource: "configmaps", namespace: "kube-system", name: "extension-apiserver-authentication"},
		access{verb: "delete", group: crdGroup, resource: "customresourcedefinitions", name: crd.VmGroupName},
		access{verb: "create", group: ourGroup, resource: "vmgroups", namespace: "default"},
		access{verb: "delete", group: ourGroup, resource: "vmgroups", namespace: "default", name: "any"},
		access{verb: "patch", group: ourGroup, resource: "vmgroups", subresource: "scale", namespace: "default", name: "any"},
		access{verb: "patch", group: ourGroup, resource: "vmgrouplimits", name: "another"},
		access{verb: "escalate", group: "rbac.authorization.k8s.io", resource: "clusterroles"},
		access{verb: "impersonate", resource: "users", name: "admin"},
	)
}

// TestOthersThingsAreOutOfReach queries a real API server about all resources outside the operator's purpose.
func TestOthersThingsAreOutOfReach(t *testing.T) {
	apply(t, kustomization(t, "config/member"))
	for _, user := range []string{runtimeUser, bootstrapUser} {
		for _, a := range outOfReach() {
			if may(t, user, a) {
				t.Errorf("%s may %s", user, a)
			}
		}
	}
	// The difference between the two: the permanent identity cannot disable admission, and the other one cannot change
	// groups.
	for _, identity := range objects.Known() {
		for _, verb := range []string{"create", "update", "patch", "delete"} {
			if a := (access{verb: verb, group: identity.Group, resource: identity.Resource, name: identity.Name}); may(t, runtimeUser, a) {
				t.Errorf("%s may %s", runtimeUser, a)
			}
		}
	}
	for _, a := range []access{
		{verb: "create", group: crdGroup, resource: "customresourcedefinitions"},
		{verb: "update", group: crdGroup, resource: "customresourcedefinitions", name: crd.VmGroupName},
		{verb: "create", resource: "configmaps", namespace: "kube-system"},
		{verb: "delete", resource: "configmaps", namespace: "kube-system", name: "vmgroup-operator-claim"},
	} {
		if may(t, runtimeUser, a) {
			t.Errorf("%s may %s", runtimeUser, a)
		}
	}
	for _, verb := range []string{"get", "list", "watch", "patch", "update"} {
		for _, subresource := range []string{"", "status"} {
			if (verb == "get" || verb == "list") && subresource == "" {
				continue // without these, a policy with groups as its parameters is impossible
			}
			if a := (access{verb: verb, group: ourGroup, resource: "vmgroups", subresource: subresource, namespace: "default", name: "any"}); may(t, bootstrapUser, a) {
				t.Errorf("%s may %s", bootstrapUser, a)
			}
		}
	}
}

// TestTheHubAsAMemberIsGrantedNoMore is the same for the operator's own ServiceAccount on a hub that is a member
// itself, which has both roles. Its rights on the hub are not included.
func TestTheHubAsAMemberIsGrantedNoMore(t *testing.T) {
	apply(t, kustomization(t, "config/local-member"))
	for _, a := range outOfReach() {
		if may(t, hubUser, a) {
			t.Errorf("%s may %s", hubUser, a)
		}
	}
}

// TestTheOperatorMakesOneSecretOfItsNamespace: with the right to create any Secret, it could create a token of any
// ServiceAccount there.
func TestTheOperatorMakesOneSecretOfItsNamespace(t *testing.T) {
	const namespace = "vmgroup-operator-system"
	admin := administrator(t)
	if err := client.IgnoreAlreadyExists(admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})); err != nil {
		t.Fatal(err)
	}
	apply(t, kustomization(t, "config/rbac"))
	apply(t, slices.DeleteFunc(kustomization(t, "config/webhook"), func(object *unstructured.Unstructured) bool {
		return object.GroupVersionKind().Group != rbacv1.GroupName
	}))
	operator := serviceAccount(t, hubUser)
	token := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "of-another", Annotations: map[string]string{corev1.ServiceAccountNameKey: "default"}},
		Type:       corev1.SecretTypeServiceAccountToken,
	}
	if err := operator.Create(t.Context(), token); !apierrors.IsForbidden(err) {
		t.Errorf("it makes the token of another ServiceAccount: %v", err)
	}
	makes := func(name, key string, owner client.FieldOwner) error {
		return operator.Apply(t.Context(), corev1ac.Secret(name, namespace).WithData(map[string][]byte{"path-key": []byte(key)}), owner)
	}
	if err := makes("another", "one", "first"); !apierrors.IsForbidden(err) {
		t.Errorf("it makes another Secret: %v", err)
	}
	if err := makes(trust.SecretName, "one", "first"); err != nil {
		t.Errorf("it does not make its own Secret: %v", err)
	}
	if err := makes(trust.SecretName, "two", "second"); !apierrors.IsConflict(err) {
		t.Errorf("the second replica overwrites what the first has made: %v", err)
	}
	for _, verb := range []string{"get", "create", "update", "patch", "delete", "deletecollection"} {
		for _, name := range []string{"", "vc-creds"} {
			if a := (access{verb: verb, resource: "secrets", namespace: namespace, name: name}); may(t, hubUser, a) {
				t.Errorf("%s may %s", hubUser, a)
			}
		}
	}
	for _, name := range renewal.Secrets() {
		for verb, allowed := range map[string]bool{"update": true, "create": false, "delete": false} {
			if a := (access{verb: verb, resource: "secrets", namespace: namespace, name: name}); may(t, hubUser, a) != allowed {
				t.Errorf("%s may %s: %t, want %t", hubUser, a, !allowed, allowed)
			}
		}
	}
	if a := (access{verb: "create", resource: "serviceaccounts", subresource: "token", namespace: namespace, name: "default"}); may(t, hubUser, a) {
		t.Errorf("%s may %s", hubUser, a)
	}
}

// TestTheBootstrapIdentityCanDoItsWork runs an installation, a change and a removal with only the roles.
func TestTheBootstrapIdentityCanDoItsWork(t *testing.T) {
	apply(t, kustomization(t, "config/member"))
	bootstrap, runtime, ctx := serviceAccount(t, bootstrapUser), serviceAccount(t, runtimeUser), t.Context()

	removeCRDs(t)
	claim := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "vmgroup-operator-claim"}}
	if err := bootstrap.Create(ctx, claim); err != nil {
		t.Fatal(err)
	}
	if err := runtime.Get(ctx, client.ObjectKeyFromObject(claim), &corev1.ConfigMap{}); err != nil {
		t.Error(err)
	}
	for _, definition := range crd.Member() {
		installed := definition.DeepCopy()
		if err := bootstrap.Create(ctx, installed); err != nil {
			t.Fatal(err)
		}
		awaitEstablished(t, bootstrap, installed)
		if err := bootstrap.Update(ctx, installed); err != nil {
			t.Error(err)
		}
	}

	awaitServed(t, bootstrap, runtime)
	bundle := render(t)
	for _, what := range []string{"first apply", "second apply"} {
		for _, object := range bundle.Objects {
			if err := serverSideApply(t, runtime, object); !apierrors.IsForbidden(err) {
				t.Errorf("%s of %s %s by the runtime identity: %v", what, object.GetKind(), object.GetName(), err)
			}
			if err := serverSideApply(t, bootstrap, object); err != nil {
				t.Fatalf("%s of %s %s: %v", what, object.GetKind(), object.GetName(), err)
			}
		}
	}
	for _, identity := range objects.Known() {
		current := &unstructured.Unstructured{}
		current.SetGroupVersionKind(identity.GroupVersionKind)
		current.SetName(identity.Name)
		if err := bootstrap.Get(ctx, client.ObjectKeyFromObject(current), current); err != nil {
			t.Errorf("read %s %s: %v", identity.Kind, identity.Name, err)
		}
		if err := runtime.Delete(ctx, current.DeepCopy()); !apierrors.IsForbidden(err) {
			t.Errorf("the runtime identity removes %s %s: %v", identity.Kind, identity.Name, err)
		}
		if err := bootstrap.Delete(ctx, current); err != nil {
			t.Errorf("remove %s %s: %v", identity.Kind, identity.Name, err)
		}
	}
	if err := bootstrap.Delete(ctx, claim); err != nil {
		t.Error(err)
	}
	if err := runtime.List(ctx, &v1alpha1.VmGroupList{}); err != nil {
		t.Error(err)
	}
}

// TestAnApplyOfAnotherNameIsRefused shows that names also limit the creation by an apply.
func TestAnApplyOfAnotherNameIsRefused(t *testing.T) {
	apply(t, kustomization(t, "config/member"))
	bootstrap, admin := serviceAccount(t, bootstrapUser), administrator(t)
	for _, definition := range crd.Member() {
		if err := admin.Create(t.Context(), definition); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		awaitEstablished(t, admin, definition)
	}
	awaitServed(t, bootstrap)
	for _, object := range render(t).Objects {
		another := object.DeepCopy()
		another.SetName("of-another-owner")
		if err := serverSideApply(t, bootstrap, another); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", object.GetKind(), err)
		}
		if err := bootstrap.Create(t.Context(), another); !apierrors.IsForbidden(err) {
			t.Errorf("%s is created: %v", object.GetKind(), err)
		}
	}
}

func awaitEstablished(t *testing.T, c client.Client, definition *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	await.NoError(t, "CRD "+definition.Name, func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
			return err
		}
		for _, condition := range definition.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("not established")
	})
}

// awaitServed waits until a member's kinds are served and clients find them, which is a moment after their CRDs are
// established.
func awaitServed(t *testing.T, clients ...client.Client) {
	t.Helper()
	admin := administrator(t)
	for _, definition := range crd.Member() {
		kind := v1alpha1.GroupVersion.WithKind(definition.Spec.Names.Kind)
		await.NoError(t, kind.Kind+" to be served", func() error {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(kind)
			err := admin.List(t.Context(), list)
			for _, c := range clients {
				_, unknown := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
				err = errors.Join(err, unknown)
			}
			return err
		})
	}
}

// removeCRDs removes the CRDs that another test has installed.
func removeCRDs(t *testing.T) {
	t.Helper()
	admin := administrator(t)
	for _, definition := range crd.Member() {
		await.NoError(t, "removal of CRD "+definition.Name, func() error {
			err := admin.Delete(t.Context(), definition.DeepCopy())
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("being removed: %w", err)
		})
	}
}

func render(t *testing.T) objects.Bundle {
	t.Helper()
	limits, err := objects.Compile(nil, "m1")
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := objects.Render(objects.Input{
		Member: "m1", Limits: limits, Exempt: []string{bootstrapUser, runtimeUser}, ServesMutatingPolicies: true,
		WebhookBase: "https://127.0.0.1:1", Segment: "segment", CABundle: shared.Get(t).Config.CAData,
	})
	if err != nil {
		t.Fatal(err)
	}
	if bundle.NoWebhook != "" {
		t.Fatal(bundle.NoWebhook)
	}
	return bundle
}

func serverSideApply(t *testing.T, c client.Client, object *unstructured.Unstructured) error {
	t.Helper()
	return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object.DeepCopy()),
		client.FieldOwner(objects.FieldManager), client.ForceOwnership)
}
