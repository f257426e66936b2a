//go:build unix && !fast

package cli

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

func TestCheckBeforeAnInstallation(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"powerless", "installer"} {
		b.context(name, b.user(b.servers.member, name))
	}
	b.through(b.servers.member, "old", answers("/version", func([]byte) []byte { return []byte(`{"gitVersion":"v1.33.9"}`) }))
	b.make(b.member, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "installer"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "create"}}}})
	b.make(b.member, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "installer"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "installer"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "installer"}},
	})
	check := func(context string, code int, wants ...string) {
		t.Helper()
		out, err := b.run("check", "--pre", "--hub-context", context)
		if ExitCode(err) != code {
			t.Errorf("%s: exit code %d: %v", context, ExitCode(err), err)
		}
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("%s: it does not say %q:\n%s", context, want, out)
			}
		}
	}
	check("edge", 0, "✔ Kubernetes v", "✔ no CustomResourceDefinition of another product", "! cert-manager is not installed", "✔ you may create what the operator needs")
	check("hub", 0, "✔ no CustomResourceDefinition of another product") // its CRDs are the operator's
	check("powerless", cluster.ExitNotWell, "✗ you may not read CustomResourceDefinitions", "✗ you may not create namespaces, customresourcedefinitions,")
	check("installer", 0, "! you may not escalate ClusterRoles")
	check("old", cluster.ExitNotWell, "✗ Kubernetes v1.33.9   (the operator needs 1.34.0 or newer)")

	b.context("powerless", b.user(b.servers.hub, "powerless"))
	out, err := b.run("check", "--hub-context", "powerless", "--deployment", "x")
	if ExitCode(err) != cluster.ExitUnreachable || !strings.Contains(out, "Run the check with an identity that has this permission") {
		t.Errorf("a user without permissions: %v\n%s", err, out)
	}

	b.make(b.member, foreignCRD())
	check("edge", cluster.ExitNotWell, "✗ CustomResourceDefinition "+crd.VmGroupName+" is not the operator's", `scope "Cluster"`)
}
