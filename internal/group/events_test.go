package group

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// The log has an error for an event that needs a person. One VCenter with a wrong password can block a thousand groups, and reports that itself.
func TestAnEventIsHandledIfNoPersonHasToActOnTheGroup(t *testing.T) {
	for reason, want := range map[string]bool{
		v1alpha1.ReasonTemplateNotFound: false, v1alpha1.ReasonVMsLost: false, v1alpha1.ReasonPolicyViolated: false,
		v1alpha1.ReasonInvalidLogin: true, v1alpha1.ReasonVCenterUnreachable: true, v1alpha1.ReasonInventoryIncomplete: true, v1alpha1.ReasonPolicyUnavailable: true, v1alpha1.ReasonWaitingForQuota: true, v1alpha1.ReasonRolloutPending: true,
	} {
		for _, conditionType := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionPolicyCompliant, v1alpha1.ConditionStalled} {
			next := v1alpha1.VmGroupStatus{Conditions: []metav1.Condition{{Type: conditionType, Status: metav1.ConditionFalse, Reason: reason}}}
			if events := Events(v1alpha1.VmGroupStatus{}, next); len(events) != 1 || events[0].Handled != want {
				t.Errorf("events of %s %s are %+v, want one with Handled %t", conditionType, reason, events, want)
			}
		}
	}
	old := v1alpha1.VmGroupStatus{ObservedGeneration: 1, VMs: []v1alpha1.VMStatus{{Name: "web-0", MoRef: "vm-1", Incarnation: 1, Phase: v1alpha1.VMReady}}}
	next := v1alpha1.VmGroupStatus{ObservedGeneration: 1, VMs: []v1alpha1.VMStatus{{Name: "web-0", Incarnation: 2, Phase: v1alpha1.VMCloning}}}
	if events := Events(old, next); len(events) != 1 || events[0].Reason != v1alpha1.EventVMsReplaced || !events[0].Handled {
		t.Errorf("events of a VM that was deleted outside are %+v, want VMsReplaced, handled", events)
	}
}
