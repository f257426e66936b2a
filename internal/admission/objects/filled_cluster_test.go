//go:build unix && !fast

package objects

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/inquiry"
)

// The hub uses the managed fields to detect which fields of an update a policy has filled in; see package
// webhook.
func TestWhatAPolicyFillsInIsInNoManagersFields(t *testing.T) {
	m := newMember(t)
	of := limited("small", 4, "8Gi", 5, "linux-*")
	of.Spec.Defaults = &v1alpha1.PolicyDefaults{Memory: 3}
	m.install(of)
	group := raw("filled", map[string]any{"cpu": int64(1), "template": "linux-1", "replicas": int64(2)})
	if err := m.team.Create(t.Context(), group, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	var fields strings.Builder
	for _, entry := range group.GetManagedFields() {
		fields.WriteString(entry.FieldsV1.GetRawString())
	}
	if spec, _ := group.Object["spec"].(map[string]any); spec["memory"] != int64(3) {
		t.Errorf("memory is %v", spec["memory"])
	}
	if got := fields.String(); strings.Contains(got, "f:memory") || !strings.Contains(got, "f:cpu") {
		t.Errorf("managed fields: %s", got)
	}
	// kubectl vmgroup quota and templates ask with empty fields.
	asked := raw(inquiry.NamespaceManager, map[string]any{"cpu": int64(1), "template": "linux-1"})
	if err := m.team.Create(t.Context(), asked, client.DryRunAll); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.memory") {
		t.Errorf("a field of an inquiry is filled in: %v", err)
	}
}
