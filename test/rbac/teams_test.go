//go:build unix

package rbac

import (
	"errors"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// TestATeamUsesVmGroupsByTheRolesOfItsNamespace checks users that have only the Kubernetes roles view, edit and admin
// in one namespace.
func TestATeamUsesVmGroupsByTheRolesOfItsNamespace(t *testing.T) {
	objects := kustomization(t, "config/member")
	apply(t, objects)
	team := map[string]string{}
	for _, role := range []string{"view", "edit", "admin"} {
		team[role] = teamWith(t, role, aggregated(t, objects, role))
	}
	everybody, writers, nobody := []string{"view", "edit", "admin"}, []string{"edit", "admin"}, []string{}
	for _, c := range []struct {
		subresource string
		verbs       []string
		roles       []string
	}{
		{"", []string{"get", "list", "watch"}, everybody},
		{"", []string{"create", "update", "patch", "delete", "deletecollection"}, writers},
		{"scale", []string{"get"}, everybody},
		{"scale", []string{"update", "patch"}, writers},
		{"status", []string{"get"}, everybody},
		{"status", []string{"update", "patch"}, nobody},
	} {
		for _, verb := range c.verbs {
			allowed := map[string]bool{}
			for _, role := range c.roles {
				allowed[role] = true
			}
			for role, user := range team {
				a := access{verb: verb, group: ourGroup, resource: "vmgroups", subresource: c.subresource, namespace: "default"}
				if got := may(t, user, a); got != allowed[role] {
					t.Errorf("role %s: %s is %v, want %v", role, a, got, allowed[role])
				}
				a.namespace = "kube-public"
				if may(t, user, a) {
					t.Errorf("role %s in namespace default also means %s", role, a)
				}
			}
		}
	}
}

// aggregated are the rules that the controller manager adds to one of Kubernetes' own roles. Here no controller manager
// runs.
func aggregated(t *testing.T, objects []*unstructured.Unstructured, to string) []rbacv1.PolicyRule {
	t.Helper()
	var rules []rbacv1.PolicyRule
	for _, object := range objects {
		if object.GetKind() == "ClusterRole" && object.GetLabels()[rbacv1.GroupName+"/aggregate-to-"+to] == "true" {
			role := &rbacv1.ClusterRole{}
			convert(t, object, role)
			rules = append(rules, role.Rules...)
		}
	}
	if len(rules) == 0 {
		t.Fatalf("config/member adds nothing to role %s", to)
	}
	return rules
}

// teamWith returns a user who has a role with these rules in namespace default, once the API server knows it.
func teamWith(t *testing.T, role string, rules []rbacv1.PolicyRule) string {
	t.Helper()
	admin, name := administrator(t), "team-"+role
	if err := admin.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}); err != nil {
		t.Fatal(err)
	}
	if err := admin.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
	}); err != nil {
		t.Fatal(err)
	}
	known := access{verb: rules[0].Verbs[0], group: ourGroup, resource: "vmgroups", namespace: "default"}
	await.NoError(t, name+" may "+known.String(), func() error {
		if !mayAt(t, admin, name, known) {
			return errors.New("not yet")
		}
		return nil
	})
	return name
}
