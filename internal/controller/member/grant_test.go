//go:build unix && !fast

package member

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// grant makes a kubeconfig of a user with exactly the permissions of config/member-rbac; revoke removes them.
func grant(t *testing.T, server *localcluster.ControlPlane, user string) (kubeconfig []byte, revoke func()) {
	t.Helper()
	return grantRoles(t, server, user, "runtime", "bootstrap")
}

// grantRoles is grant for some of the roles in config/member-rbac.
func grantRoles(t *testing.T, server *localcluster.ControlPlane, user string, roles ...string) (kubeconfig []byte, revoke func()) {
	t.Helper()
	return grantChanged(t, server, user, func(*rbacv1.ClusterRole) {}, roles...)
}

// grantChanged is grantRoles for cluster roles of another version, under their own name.
func grantChanged(t *testing.T, server *localcluster.ControlPlane, user string, change func(*rbacv1.ClusterRole), roles ...string) (kubeconfig []byte, revoke func()) {
	t.Helper()
	member := directClient(t, server.Config)
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	directory := filepath.Join(root, "config", "member-rbac", "roles")
	create := func(object client.Object) {
		if err := member.Create(t.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	read := func(name string, object client.Object) {
		content, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(content, object); err != nil {
			t.Fatal(err)
		}
		if role, ok := object.(*rbacv1.ClusterRole); ok {
			change(role)
		}
		create(object)
	}
	subject := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
	bindings := make([]client.Object, 0, 2*len(roles))
	var rights []authorizationv1.ResourceAttributes
	for _, name := range roles {
		clusterRole, role := &rbacv1.ClusterRole{}, &rbacv1.Role{}
		read(name+"-clusterrole.yaml", clusterRole)
		read(name+"-role.yaml", role)
		rights = append(append(rights, rightsOf("", clusterRole.Rules)...), rightsOf(role.Namespace, role.Rules)...)
		bindings = append(bindings, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user + "-" + name}, Subjects: subject,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: clusterRole.Name},
		}, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: role.Namespace, Name: user + "-" + name}, Subjects: subject,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		})
	}
	for _, binding := range bindings {
		create(binding)
	}
	awaitRights(t, member, user, rights, true)
	kubeconfig, err = server.UserKubeconfig(user)
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig, func() {
		for _, binding := range bindings {
			if err := member.Delete(context.Background(), binding); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		}
		awaitRights(t, member, user, rights, false)
	}
}

// awaitRights waits until the API server grants all of some rights to a user, or none: it observes roles and bindings
// with four watches, and uses its older state until then.
func awaitRights(t *testing.T, member client.Client, user string, rights []authorizationv1.ResourceAttributes, granted bool) {
	t.Helper()
	for _, right := range rights {
		await.NoError(t, fmt.Sprintf("%s, granted %v: %s %s", user, granted, right.Verb, right.Resource), func() error {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &right}}
			if err := member.Create(context.Background(), review); err != nil {
				return err
			}
			if review.Status.Allowed != granted {
				return errors.New("not yet")
			}
			return nil
		})
	}
}

// rightsOf returns one right of each rule of a role in a namespace, or of a cluster role.
func rightsOf(namespace string, rules []rbacv1.PolicyRule) []authorizationv1.ResourceAttributes {
	var rights []authorizationv1.ResourceAttributes
	for _, rule := range rules {
		if len(rule.Resources) == 0 {
			continue
		}
		right := authorizationv1.ResourceAttributes{Namespace: namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0]}
		right.Resource, right.Subresource, _ = strings.Cut(rule.Resources[0], "/")
		if len(rule.ResourceNames) > 0 {
			right.Name = rule.ResourceNames[0]
		}
		rights = append(rights, right)
	}
	return rights
}
