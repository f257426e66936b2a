//go:build unix

package admission

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// maxCPU makes a policy limit the CPUs of a VM.
func maxCPU(most int32) func(*v1alpha1.VmGroupPolicySpec) {
	return func(s *v1alpha1.VmGroupPolicySpec) {
		s.Limits.CPU = &v1alpha1.CountRange{Max: ptr.To(most)}
	}
}

func cpus(n int32) func(*v1alpha1.VmGroup) {
	return func(g *v1alpha1.VmGroup) { g.Spec.CPU = n }
}

func TestATightenedPolicyDestroysNothingAndALostVMReturnsAsItWas(t *testing.T) {
	stack.Story(t)
	r := newRule(t, "tightened", maxCPU(4))
	p := newPlace(t, "team-a", r.name, r.labels())
	p.untilAllSay("exceeds the maximum 4", p.group("probe", 1, cpus(8)))
	r.untilKnownIn(p, 4)
	p.apply(p.group("kept", 3, cpus(4)))
	before := p.shaped(p.untilRunning("kept", 3), 3, 4)
	r.untilCounts(1, 0)

	r.change(maxCPU(2))
	p.untilCompliance("kept", metav1.ConditionFalse, v1alpha1.ReasonPolicyTightened, 3,
		`spec.cpu: Invalid value: 4: exceeds the maximum 2 of VmGroupPolicy "tightened"`)
	r.untilCounts(1, 1)
	if err := world.Person.Destroy(t.Context(), before["kept-1"].Path); err != nil {
		t.Fatal(err)
	}
	g := p.untilGroup("kept-1 to be replaced", "kept", func(g *v1alpha1.VmGroup) bool {
		return g.Status.ReadyReplicas == 3 && len(g.Status.VMs) == 3 && g.Status.VMs[1].MoRef != before["kept-1"].Ref.Value
	})
	after := p.shaped(g, 3, 4)
	for _, name := range []string{"kept-0", "kept-2"} {
		if before[name].Ref != after[name].Ref {
			t.Errorf("%s is %s, was %s: it was replaced", name, after[name].Ref.Value, before[name].Ref.Value)
		}
	}
	p.untilCompliance("kept", metav1.ConditionFalse, v1alpha1.ReasonPolicyTightened, 3)

	// A label or a smaller size makes no violation worse.
	p.edit(p, "kept", `{"metadata":{"labels":{"by":"a-user"}},"spec":{"replicas":2}}`)
	p.untilCompliance("kept", metav1.ConditionFalse, v1alpha1.ReasonPolicyTightened, 2)
}

// TestAGroupBelowTheDefaultMinimumFollowsItsEdits: admission accepts an edit of a group without VMs, but the operator
// held it for the minimum of one VM that applies to new groups.
func TestAGroupBelowTheDefaultMinimumFollowsItsEdits(t *testing.T) {
	stack.Story(t)
	p := newPlace(t, "team-b", "below-minimum", nil)
	p.apply(p.group("edited", 1, cpus(2)))
	p.untilRunning("edited", 1)
	p.edit(p.Client, "edited", `{"spec":{"replicas":0}}`)
	p.edit(p.Client, "edited", `{"spec":{"cpu":3}}`)
	g := p.untilGroup("the edit to be admitted", "edited", func(g *v1alpha1.VmGroup) bool {
		return g.Status.Admitted != nil && g.Status.Admitted.CPU == 3 && g.Status.CurrentReplicas == 0
	})
	if c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionPolicyCompliant); c == nil || c.Status != metav1.ConditionTrue || g.Status.Phase == v1alpha1.PhaseError {
		t.Errorf("phase %s, %+v", g.Status.Phase, c)
	}
	p.edit(p.Client, "edited", `{"spec":{"replicas":1}}`)
	p.shaped(p.untilRunning("edited", 1), 1, 3)
}

// TestAGroupThatWasEditedPastTheDoorIsHeld: the policy is tightened while the member is unreachable, and a user that no
// webhook checks edits the group. Only the reconciler can hold it.
func TestAGroupThatWasEditedPastTheDoorIsHeld(t *testing.T) {
	stack.Story(t)
	r := newRule(t, "held", maxCPU(4))
	p := newPlace(t, "team-b", r.name, r.labels())
	p.untilAllSay("exceeds the maximum 4", p.group("probe", 1, cpus(8)))
	r.untilKnownIn(p, 4)
	p.apply(p.group("edited", 2, cpus(2)))
	before := p.shaped(p.untilRunning("edited", 2), 2, 2)

	p.Proxy.Hook(func(call localcluster.APICall) faultproxy.Fault {
		if call.Resource == "vmgrouplimits" && call.Writes() {
			return faultproxy.Fault{Act: faultproxy.CutBefore}
		}
		return faultproxy.Fault{}
	})
	t.Cleanup(func() { p.Proxy.Hook(nil) })
	r.change(maxCPU(2))
	p.untilAllSay("exceeds the maximum 2", p.group("probe", 1, cpus(4)))
	refused(t, p.Create(t.Context(), p.group("refused", 1, cpus(4))), `exceeds the maximum 2 of VmGroupPolicy "held"`)
	p.edit(p.pastTheDoor(), "edited", `{"spec":{"cpu":4,"replicas":4}}`)
	p.untilCompliance("edited", metav1.ConditionFalse, v1alpha1.ReasonPolicyViolated, 2,
		`spec.cpu: Invalid value: 4: exceeds the maximum 2 of VmGroupPolicy "held"`, "is held at what was admitted before")
	r.untilCounts(1, 1)

	if err := world.Person.Destroy(t.Context(), before["edited-0"].Path); err != nil {
		t.Fatal(err)
	}
	g := p.untilGroup("edited-0 to be replaced", "edited", func(g *v1alpha1.VmGroup) bool {
		return g.Status.ReadyReplicas == 2 && len(g.Status.VMs) == 2 && g.Status.VMs[0].MoRef != before["edited-0"].Ref.Value
	})
	if after := p.shaped(g, 2, 2); after["edited-1"].Ref != before["edited-1"].Ref {
		t.Error("edited-1 was replaced as well")
	}

	p.edit(p.pastTheDoor(), "edited", `{"spec":{"replicas":1}}`)
	p.shaped(p.untilCompliance("edited", metav1.ConditionFalse, v1alpha1.ReasonPolicyViolated, 1), 1, 2)
	p.edit(p.pastTheDoor(), "edited", `{"spec":{"replicas":3}}`)
	p.shaped(p.untilCompliance("edited", metav1.ConditionFalse, v1alpha1.ReasonPolicyViolated, 1), 1, 2)

	p.Proxy.Hook(nil)
	r.change(maxCPU(4))
	p.untilCompliance("edited", metav1.ConditionTrue, v1alpha1.ReasonPolicyAllows, 3)
	kinds := map[int32]int{}
	for _, vm := range p.vms(p.untilRunning("edited", 3)) {
		kinds[vm.CPU]++
	}
	if len(kinds) != 1 || kinds[4] != 3 {
		t.Errorf("VMs by their CPUs are %v, want three with 4: what is allowed reaches the one that was there, too", kinds)
	}
	r.untilCounts(1, 0)
}
