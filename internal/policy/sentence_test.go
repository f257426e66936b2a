package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// shrunk is a group of so many VMs whose shape was admitted with as many, or with another CPU count.
func shrunk(replicas, cpu int32) Findings {
	was := v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "t", Replicas: &replicas}
	v := Findings{Spec: was, Revision: "1-new", Admitted: admit(was, "1-old", replicas)}
	v.Spec.CPU = cpu
	return v
}

func TestAGroupIsToldOfTheMinimumOnlyIfThatIsWhatItBreaks(t *testing.T) {
	few := []Violation{{Field: "spec.replicas", Detail: "is below the minimum 1", Rule: RuleReplicasMinimum, Enforced: true}}
	full := []Violation{{Field: "spec.replicas", Detail: "exceeds the quota", Rule: RuleQuotaVMs, Enforced: true}}
	warns := []Violation{{Field: "spec.replicas", Detail: "is below the minimum 1", Rule: RuleReplicasMinimum}}
	for story, c := range map[string]struct {
		violations, quota []Violation
		reason            string
		minimum           bool
	}{
		"it is too small":                     {few, nil, v1alpha1.ReasonPolicyViolated, true},
		"a quota is full":                     {nil, full, v1alpha1.ReasonPolicyTightened, false},
		"a quota is full, and it is small":    {few, full, v1alpha1.ReasonPolicyTightened, false},
		"a quota is full, and a policy warns": {warns, full, v1alpha1.ReasonPolicyTightened, false},
	} {
		v := shrunk(3, 1)
		v.Violations, v.Quota = c.violations, c.quota
		a := Decide(v)
		if a.Reason != c.reason || a.Held || strings.Contains(a.Message, "has shrunk below the minimum") != c.minimum {
			t.Errorf("%s: held %t, %s: %s", story, a.Held, a.Reason, a.Message)
		}
	}
}

// A group without VMs has what it wants, whatever the shape of those that it may have some time.
func TestAnEditOfAGroupWithoutVMsIsNotHeldForTheMinimum(t *testing.T) {
	few := []Violation{{Field: "spec.replicas", Detail: "is below the minimum 1", Rule: RuleReplicasMinimum, Enforced: true}}
	large := Violation{Field: "spec.cpu", Detail: "is above the maximum 2", Rule: RuleCPUMaximum, Enforced: true}
	v := shrunk(0, 4)
	v.Violations = few
	if a := Decide(v); a.Held || a.Terminal || a.NoCreate || a.Spec.CPU != 4 || a.Admitted.Replicas != 0 {
		t.Errorf("held %t, terminal %t: %s", a.Held, a.Terminal, a.Message)
	}
	v.Violations = append(slices.Clone(few), large)
	if a := Decide(v); !a.Held || !a.Terminal {
		t.Errorf("with too many CPUs: held %t, terminal %t: %s", a.Held, a.Terminal, a.Message)
	}
	if v = shrunk(1, 4); !strings.Contains(Decide(v).Message, "allow") {
		t.Error("what breaks nothing is not allowed")
	}
	v.Violations = few
	if a := Decide(v); !a.Held {
		t.Error("VMs that are there follow a shape that was not judged")
	}
}
