//go:build unix && !fast

package objects

import (
	"context"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

func TestOnlyTheOperatorWritesLimits(t *testing.T) {
	m := newMember(t)
	m.install(limited("small", 4, "8Gi", 5, "linux-*"))
	limits := &v1alpha1.VmGroupLimits{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LimitsName}}
	if err := m.team.Get(t.Context(), client.ObjectKeyFromObject(limits), limits); err != nil {
		t.Fatalf("a team must be able to read the limits: %v", err)
	}
	if got := limits.Spec.Summary; got != "small" {
		t.Errorf("summary %q", got)
	}
	wider := limits.DeepCopy()
	wider.Spec.Policies[0].CPU.Max = ptr.To[int64](64)
	another := &v1alpha1.VmGroupLimits{ObjectMeta: metav1.ObjectMeta{Name: "another"}}
	for what, write := range map[string]func(client.Client) error{
		"update": func(c client.Client) error { return c.Update(t.Context(), wider.DeepCopy(), client.DryRunAll) },
		"create": func(c client.Client) error { return c.Create(t.Context(), another.DeepCopy(), client.DryRunAll) },
		"delete": func(c client.Client) error { return c.Delete(t.Context(), limits.DeepCopy(), client.DryRunAll) },
		"delete all": func(c client.Client) error {
			return c.DeleteAllOf(t.Context(), &v1alpha1.VmGroupLimits{}, client.DryRunAll)
		},
	} {
		if err := write(m.team); !apierrors.IsForbidden(err) || reason(err) != protectionMessage {
			t.Errorf("%s by another user: %v", what, err)
		}
		if err := write(m.operator); err != nil {
			t.Errorf("%s by the operator: %v", what, err)
		}
	}
}

func TestOnlyTheOperatorAndWhoMayTakeTheGuardAwayWriteStatus(t *testing.T) {
	m := newMember(t)
	m.install(limited("small", 4, "8Gi", 5, "linux-*"))
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "status-writer"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"vmgroups", "vmgroups/status"}, Verbs: []string{"*"},
	}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "forger"}},
	}
	group := raw("forged", map[string]any{"cpu": int64(1), "memory": int64(1), "template": "linux-1", "replicas": int64(2)})
	for _, object := range []client.Object{role, binding, group} {
		if err := m.operator.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.operator.Delete(context.WithoutCancel(t.Context()), object) })
	}
	forger := clientOf(t, rest.ImpersonationConfig{UserName: "forger"})
	admitted := client.RawPatch(types.MergePatchType, []byte(`{"status":{"admitted":{"revision":"1-x","replicas":9,"cpu":64,"memory":1,"template":"t"}}}`))
	write := func(c client.Client) error {
		return c.Status().Patch(t.Context(), group.DeepCopy(), admitted, &client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
	}
	await.NoError(m.t, "the forger's rights", func() error {
		return forger.Patch(t.Context(), group.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`)))
	})
	if err := write(forger); !apierrors.IsForbidden(err) || reason(err) != statusMessage {
		t.Errorf("status written by a user with all rights on groups: %v", err)
	}
	for who, c := range map[string]client.Client{"the operator": m.operator, "an administrator of the member": m.team} {
		if err := write(c); err != nil {
			t.Errorf("status by %s: %v", who, err)
		}
	}
}

// TestUsernamesCannotLeaveTheirQuotes puts names into the expression that would permit every user if they were not
// escaped.
func TestUsernamesCannotLeaveTheirQuotes(t *testing.T) {
	m := newMember(t)
	names := []string{`x'] || true || 'a' in ['`, `back\slash`, `"quoted"`, "line\nbreak", "system:serviceaccount:ns:name", "ü@example.com", "\x7f\t"}
	bundle, err := Render(Input{Member: "m1", Exempt: []string{operatorUser}, Writers: names})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.uninstall)
	m.apply(bundle.Objects)
	limits := &v1alpha1.VmGroupLimits{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LimitsName}}
	await.NoError(m.t, "protection", func() error {
		if err := m.team.Delete(t.Context(), limits.DeepCopy(), client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("another user can delete the limits: %w", err)
		}
		return nil
	})
	for _, name := range names {
		if name == "line\nbreak" || name == "\x7f\t" {
			continue // no header can contain these names; a successful compilation of the policy is enough
		}
		if err := clientAs(t, name).Delete(t.Context(), limits.DeepCopy(), client.DryRunAll); err != nil {
			t.Errorf("user %q: %v", name, err)
		}
	}
}
