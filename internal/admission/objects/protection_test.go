//go:build unix && !fast

package objects

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
			t.Errorf("%s by somebody else: %v", what, err)
		}
		if err := write(m.operator); err != nil {
			t.Errorf("%s by the operator: %v", what, err)
		}
	}
}

// TestUsernamesCannotLeaveTheirQuotes puts names into the expression that would let everybody in if they were not escaped.
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
			return fmt.Errorf("somebody else may delete the limits: %w", err)
		}
		return nil
	})
	for _, name := range names {
		if name == "line\nbreak" || name == "\x7f\t" {
			continue // no header can carry these names; that the policy compiles is enough
		}
		if err := clientAs(t, name).Delete(t.Context(), limits.DeepCopy(), client.DryRunAll); err != nil {
			t.Errorf("user %q: %v", name, err)
		}
	}
}
