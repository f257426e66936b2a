//go:build unix

package admission

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

func TestAGroupAboveTheOriginalsLimitsIsRefusedWhereNoPolicyMatches(t *testing.T) {
	stack.Story(t)
	p := newPlace(t, "team-a", "no-policy", nil)
	refused(t, p.Create(t.Context(), p.group("vg", 1, func(g *v1alpha1.VmGroup) { g.Spec.CPU = 16 })),
		"spec.cpu: Invalid value: 16: exceeds the maximum 4 that holds by default: no VmGroupPolicy in mode Enforce limits it here")
	if err := p.Create(t.Context(), p.group("vg", 1)); err != nil {
		t.Error(err)
	}
}
