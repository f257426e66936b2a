package group

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// A clone that was to replace vm-1 did not succeed. vm-1 turns out to be outside the root folder.
func TestALostVMThatIsFoundIsNotToldAsCreated(t *testing.T) {
	old := v1alpha1.VmGroupStatus{ObservedGeneration: 1, VMs: []v1alpha1.VMStatus{
		{Name: "web-0", Incarnation: 1, Phase: v1alpha1.VMCloning, Replaces: &v1alpha1.LostVM{MoRef: "vm-1"}},
	}}
	next := *old.DeepCopy()
	next.VMs[0] = v1alpha1.VMStatus{Name: "web-0", MoRef: "vm-1", Phase: v1alpha1.VMLost}
	if reasons := reasonsOf(Events(old, next)); reasons != "" {
		t.Errorf("events are %s, want none", reasons)
	}
	next.VMs[0].MoRef = "vm-2"
	if reasons := reasonsOf(Events(old, next)); reasons != "VMsCreated" {
		t.Errorf("events of another VM are %q, want VMsCreated", reasons)
	}
}
