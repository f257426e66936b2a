//go:build unix && !fast

package command

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/check/health"
)

// TestAnAccountThatCanListButNotGetReadsOneObject as the operator's account does in a Job of kubectl vmgroup vcenter check.
func TestAnAccountThatCanListButNotGetReadsOneObject(t *testing.T) {
	server, admin := realHub(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	of := func(user string) byName {
		t.Helper()
		content, err := server.UserKubeconfig(user)
		must(err)
		config, err := clientcmd.RESTConfigFromKubeConfig(content)
		must(err)
		c, err := health.Client(config)
		must(err)
		return byName{c}
	}
	for _, o := range []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "vc-creds"}, Data: map[string][]byte{"password": []byte("one\n")}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "vc-other"}, Data: map[string][]byte{"password": []byte("two")}},
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "lists"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list"}}}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "lists"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "lists"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "lister"}},
		},
	} {
		must(admin.Create(t.Context(), o))
	}
	lister, secret := of("lister"), &corev1.Secret{}
	must(lister.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "vc-creds"}, secret))
	if secret.Name != "vc-creds" || string(secret.Data["password"]) != "one\n" {
		t.Errorf("it reads %q with %q", secret.Name, secret.Data)
	}
	if err := lister.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "none"}, secret); !apierrors.IsNotFound(err) {
		t.Errorf("a Secret that does not exist: %v", err)
	}
	if err := of("nobody").Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "vc-creds"}, secret); !apierrors.IsForbidden(err) {
		t.Errorf("an account without rights: %v", err)
	}
}
