//go:build unix && !fast

package objects

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
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
}
