package policy

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestDecide(t *testing.T) {
	spec := func(cpu, replicas int32) v1alpha1.VmGroupSpec {
		return v1alpha1.VmGroupSpec{CPU: cpu, Memory: 2, Template: "t", Replicas: &replicas, PowerState: v1alpha1.PoweredOff}
	}
	was := func(cpu, replicas int32) *v1alpha1.Admitted {
		return &v1alpha1.Admitted{Revision: "r", Replicas: replicas, VMShape: v1alpha1.VMShape{CPU: cpu, Memory: 2, Template: "t"}}
	}
	tooMuch := []Violation{{Field: "spec.cpu", Value: int32(8), Detail: "is too much", Rule: RuleCPUMaximum, Enforced: true}}
	tooFew := []Violation{{Field: "spec.replicas", Value: int32(1), Detail: "is too little", Rule: RuleReplicasMinimum, Enforced: true}}
	warned := []Violation{{Field: "spec.cpu", Value: int32(8), Detail: "is a lot"}}
	denied := []Denial{{Field: "spec.template", Message: "not granted"}}
	full := []Violation{{Field: "spec.replicas", Value: int32(5), Detail: "exceeds the quota", Rule: RuleQuotaVMs, Enforced: true}}
	for _, c := range []struct {
		story string
		v     Findings
		// planned and admitted cpu and replicas; 0 and 0 for none.
		cpu, replicas, admittedCPU, admittedReplicas int32
		held, noCreate, terminal                     bool
		status                                       metav1.ConditionStatus
		reason, message                              string
	}{
		{
			story: "what is allowed is admitted", v: Findings{Spec: spec(4, 3), Admitted: was(2, 1)},
			cpu: 4, replicas: 3, admittedCPU: 4, admittedReplicas: 3, status: "True", reason: v1alpha1.ReasonPolicyAllows,
		},
		{
			story: "a warning changes nothing", v: Findings{Spec: spec(8, 3), Violations: warned},
			cpu: 8, replicas: 3, admittedCPU: 8, admittedReplicas: 3, status: "True", reason: v1alpha1.ReasonPolicyAllows, message: "is a lot",
		},
		{
			story: "a change that is refused is held", v: Findings{Spec: spec(8, 5), Admitted: was(4, 3), Violations: tooMuch},
			cpu: 4, replicas: 3, admittedCPU: 4, admittedReplicas: 3, held: true, terminal: true,
			status: "False", reason: v1alpha1.ReasonPolicyViolated, message: "spec.cpu: Invalid value: 8: is too much. The group is held at what was admitted before: 3 VMs with cpu 4",
		},
		{
			story: "growth that is refused is held", v: Findings{Spec: spec(8, 5), Admitted: was(8, 3), Violations: tooMuch},
			cpu: 8, replicas: 3, admittedCPU: 8, admittedReplicas: 3, held: true, terminal: true, status: "False", reason: v1alpha1.ReasonPolicyViolated,
		},
		{
			story: "what is held may shrink", v: Findings{Spec: spec(8, 2), Admitted: was(4, 3), Violations: tooMuch},
			cpu: 4, replicas: 2, admittedCPU: 4, admittedReplicas: 2, held: true, terminal: true, status: "False", reason: v1alpha1.ReasonPolicyViolated,
		},
		{
			story: "a policy that is tightened holds nothing back", v: Findings{Spec: spec(8, 3), Admitted: was(8, 3), Violations: tooMuch},
			cpu: 8, replicas: 3, admittedCPU: 8, admittedReplicas: 3, status: "False", reason: v1alpha1.ReasonPolicyTightened,
		},
		{
			story: "an edit back to what is refused and all VMs are holds nothing back, and lets nothing in",
			v:     Findings{Spec: spec(8, 3), Revision: "old", Admitted: was(4, 5), Violations: tooMuch, Standing: 3},
			cpu:   8, replicas: 3, admittedCPU: 4, admittedReplicas: 3, noCreate: true, status: "False", reason: v1alpha1.ReasonPolicyTightened,
			message: "Spec went back to revision old, which 3 VMs have: they are kept, and none that is lost is cloned again. Revision r was admitted last.",
		},
		{
			story: "an edit back to what some VMs are is held", v: Findings{Spec: spec(8, 3), Revision: "old", Admitted: was(4, 5), Violations: tooMuch, Standing: 1},
			cpu: 4, replicas: 3, admittedCPU: 4, admittedReplicas: 3, held: true, terminal: true, status: "False", reason: v1alpha1.ReasonPolicyViolated,
			message: "Spec went back to revision old, which 1 VM has still: they stay, and none of them that is lost is cloned again. Revision r was admitted last. Change spec",
		},
		{
			story: "an edit back to nothing has nothing to keep", v: Findings{Spec: spec(8, 0), Admitted: was(4, 3), Violations: tooMuch},
			cpu: 4, replicas: 0, admittedCPU: 4, admittedReplicas: 0, held: true, terminal: true, status: "False", reason: v1alpha1.ReasonPolicyViolated,
		},
		{
			story: "shrinking below a minimum is done", v: Findings{Spec: spec(4, 1), Admitted: was(4, 3), Violations: tooFew},
			cpu: 4, replicas: 1, admittedCPU: 4, admittedReplicas: 1, status: "True", reason: v1alpha1.ReasonPolicyAllows, message: "Allowed, although",
		},
		{
			story: "an edit of a group below a minimum is done", v: Findings{Spec: spec(3, 1), Admitted: was(4, 1), Violations: tooFew},
			cpu: 3, replicas: 1, admittedCPU: 3, admittedReplicas: 1, status: "True", reason: v1alpha1.ReasonPolicyAllows, message: "is too little",
		},
		{
			story: "an edit of a group of no VMs is done", v: Findings{Spec: spec(3, 0), Admitted: was(4, 0), Violations: tooFew},
			cpu: 3, replicas: 0, admittedCPU: 3, admittedReplicas: 0, status: "True", reason: v1alpha1.ReasonPolicyAllows,
		},
		{
			story: "growth that stays below a minimum is done", v: Findings{Spec: spec(4, 1), Admitted: was(4, 0), Violations: tooFew},
			cpu: 4, replicas: 1, admittedCPU: 4, admittedReplicas: 1, status: "True", reason: v1alpha1.ReasonPolicyAllows,
		},
		{
			story: "a new group below a minimum is refused", v: Findings{Spec: spec(4, 1), Violations: tooFew},
			cpu: 4, replicas: 1, held: true, noCreate: true, terminal: true, status: "False", reason: v1alpha1.ReasonPolicyViolated,
		},
		{
			story: "a group below a minimum whose record was lost is no new group", v: Findings{Spec: spec(4, 1), Violations: tooFew, Unrecorded: "accept it"},
			cpu: 4, replicas: 1, admittedCPU: 4, admittedReplicas: 1, status: "True", reason: v1alpha1.ReasonPolicyAllows,
		},
		{
			story: "a quota that refuses a group below a minimum names the quota", v: Findings{Spec: spec(4, 3), Admitted: was(4, 3), Violations: tooFew, Quota: full},
			cpu: 4, replicas: 3, admittedCPU: 4, admittedReplicas: 3, status: "False", reason: v1alpha1.ReasonPolicyTightened, message: "exceeds the quota. What runs was admitted before",
		},
		{
			story: "nothing was admitted, nothing is there", v: Findings{Spec: spec(8, 3), Violations: tooMuch},
			cpu: 8, replicas: 3, held: true, noCreate: true, terminal: true, status: "False", reason: v1alpha1.ReasonPolicyViolated, message: "no VM is cloned",
		},
		{
			story: "nothing was admitted, all is there", v: Findings{Spec: spec(8, 3), Violations: tooMuch, Existing: 3},
			cpu: 8, replicas: 3, noCreate: true, terminal: true, status: "False", reason: v1alpha1.ReasonPolicyViolated,
		},
		{
			story: "an admitted record without a shape is none", v: Findings{Spec: spec(8, 3), Violations: tooMuch, Admitted: &v1alpha1.Admitted{Replicas: 3}},
			cpu: 8, replicas: 3, held: true, noCreate: true, terminal: true, status: "False", reason: v1alpha1.ReasonPolicyViolated,
		},
		{
			story: "a denial holds like a violation", v: Findings{Spec: spec(8, 3), Admitted: was(4, 3), Denials: denied, Violations: tooMuch},
			cpu: 4, replicas: 3, admittedCPU: 4, admittedReplicas: 3, held: true, terminal: true,
			status: "False", reason: v1alpha1.ReasonNotGranted, message: "spec.template: not granted; spec.cpu: Invalid value: 8: is too much",
		},
		{
			story: "a grant that is taken away holds nothing back", v: Findings{Spec: spec(4, 3), Admitted: was(4, 3), Denials: denied},
			cpu: 4, replicas: 3, admittedCPU: 4, admittedReplicas: 3, status: "False", reason: v1alpha1.ReasonNotGranted,
		},
		{
			story: "a quota that is full holds growth", v: Findings{Spec: spec(4, 5), Admitted: was(4, 3), Quota: full},
			cpu: 4, replicas: 3, admittedCPU: 4, admittedReplicas: 3, held: true, terminal: true,
			status: "False", reason: v1alpha1.ReasonQuotaExceeded, message: "continues automatically",
		},
		{
			story: "what was not found is neither", v: Findings{Spec: spec(8, 2), Admitted: was(4, 3), Unresolved: true},
			cpu: 8, replicas: 2, admittedCPU: 4, admittedReplicas: 2, status: "Unknown", reason: v1alpha1.ReasonNotChecked,
		},
		{
			story: "a violation is one, found or not", v: Findings{Spec: spec(8, 3), Admitted: was(4, 3), Unresolved: true, Violations: tooMuch},
			cpu: 4, replicas: 3, admittedCPU: 4, admittedReplicas: 3, held: true, terminal: true, status: "False", reason: v1alpha1.ReasonPolicyViolated,
		},
		{
			story: "while policies are unavailable, nothing grows", v: Findings{Spec: spec(4, 5), Admitted: was(4, 3), Unavailable: "The hub is unreachable"},
			cpu: 4, replicas: 3, admittedCPU: 4, admittedReplicas: 3, held: true, status: "Unknown", reason: v1alpha1.ReasonPolicyUnavailable, message: "The hub is unreachable. Until then",
		},
		{
			story: "while policies are unavailable, all continues", v: Findings{Spec: spec(4, 2), Admitted: was(4, 3), Unavailable: "The hub is unreachable"},
			cpu: 4, replicas: 2, admittedCPU: 4, admittedReplicas: 2, status: "Unknown", reason: v1alpha1.ReasonPolicyUnavailable,
		},
		{
			story: "while policies are unavailable, nothing begins", v: Findings{Spec: spec(4, 2), Unavailable: "The hub is unreachable"},
			cpu: 4, replicas: 2, held: true, noCreate: true, status: "Unknown", reason: v1alpha1.ReasonPolicyUnavailable,
		},
	} {
		t.Run(c.story, func(t *testing.T) {
			h := Decide(c.v)
			if h.Spec.CPU != c.cpu || *h.Spec.Replicas != c.replicas || h.Spec.PowerState != v1alpha1.PoweredOff {
				t.Errorf("planned with %d VMs of cpu %d and power %q, want %d of %d", *h.Spec.Replicas, h.Spec.CPU, h.Spec.PowerState, c.replicas, c.cpu)
			}
			switch a := h.Admitted; {
			case (a == nil) != (c.admittedCPU == 0):
				t.Errorf("admitted %+v, want cpu %d", a, c.admittedCPU)
			case a != nil && (a.CPU != c.admittedCPU || a.Replicas != c.admittedReplicas):
				t.Errorf("admitted %+v, want %d VMs of cpu %d", a, c.admittedReplicas, c.admittedCPU)
			}
			if h.Held != c.held || h.NoCreate != c.noCreate || h.Terminal != c.terminal || h.Status != c.status || h.Reason != c.reason {
				t.Errorf("got %+v", h)
			}
			if !strings.Contains(h.Message, c.message) {
				t.Errorf("the message is %q, want %q in it", h.Message, c.message)
			}
		})
	}
}

func drawVerdicts(t *rapid.T) Findings {
	shape := func(name string) (cpu, replicas int32) {
		return rapid.Int32Range(1, 3).Draw(t, name+" cpu"), rapid.Int32Range(0, 4).Draw(t, name+" replicas")
	}
	v := Findings{Revision: "new", Existing: rapid.Int32Range(0, 4).Draw(t, "existing"), Unresolved: rapid.Bool().Draw(t, "unresolved")}
	cpu, replicas := shape("spec")
	v.Spec = v1alpha1.VmGroupSpec{CPU: cpu, Memory: 1, Template: "t", Replicas: &replicas}
	if rapid.Bool().Draw(t, "admitted before") {
		cpu, replicas := shape("admitted")
		v.Admitted = &v1alpha1.Admitted{VMShape: v1alpha1.VMShape{CPU: cpu, Memory: 1, Template: "t"}, Replicas: replicas, Revision: "old"}
		if cpu != v.Spec.CPU {
			v.Standing = rapid.Int32Range(0, 4).Draw(t, "standing")
		}
	}
	enforced := rapid.Bool().Draw(t, "enforced")
	switch rapid.IntRange(0, 4).Draw(t, "refused by") {
	case 1:
		v.Violations = []Violation{{Field: "spec.cpu", Value: cpu, Rule: RuleCPUMaximum, Enforced: enforced}}
	case 2:
		v.Denials = []Denial{{Field: "spec.template"}}
	case 3:
		v.Quota = []Violation{{Field: "spec.replicas", Value: replicas, Rule: RuleQuotaVMs, Enforced: enforced}}
	case 4:
		v.Unavailable = "away"
	}
	return v
}

// checkRefused checks the plan for a spec that is refused, or not known to be allowed.
func checkRefused(t *rapid.T, v Findings, h Admission) {
	planned := *h.Spec.Replicas
	switch {
	case v.Admitted == nil:
		if !h.NoCreate || h.Admitted != nil {
			t.Fatalf("refused, never admitted, and yet %+v", h)
		}
	case v.Standing > 0 && v.Standing >= *v.Spec.Replicas && v.Unavailable == "":
		if !h.NoCreate || h.Held || h.Terminal || planned != *v.Spec.Replicas {
			t.Fatalf("all VMs are there as spec says, and yet %+v", h)
		}
	case !h.Spec.HasShape(v.Admitted.VMShape) || planned > v.Admitted.Replicas:
		t.Fatalf("refused, and planned with %+v although %+v was admitted", h.Spec, v.Admitted)
	}
}

// Whatever the verdict about a spec: the plan never exceeds what was allowed once, another decision with the stored
// result changes nothing, and a group loses only what spec gives up.
func TestAHoldNeverGivesMoreAndNeverTakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawVerdicts(t)
		h := Decide(v)
		if h.Reason == "" || h.Message == "" || h.Status == "" {
			t.Fatalf("nothing is said: %+v", h)
		}
		planned := *h.Spec.Replicas
		if v.Refused() || v.Unavailable != "" {
			checkRefused(t, v, h)
		}
		least := *v.Spec.Replicas
		if v.Admitted != nil {
			least = min(least, v.Admitted.Replicas)
		}
		if planned < least {
			t.Fatalf("%d VMs are planned with: fewer than both spec and what was admitted", planned)
		}
		v.Admitted = h.Admitted
		if again := Decide(v); again.Held != h.Held || *again.Spec.Replicas != planned || again.Spec.CPU != h.Spec.CPU {
			t.Fatalf("stored and decided again: %+v, first %+v", again, h)
		}
	})
}

func TestWhatWasAdmittedIsDescribedWithItsSocketsAndItsDisk(t *testing.T) {
	shape := v1alpha1.VMShape{CPU: 4, Memory: 2, Template: "debian-12"}
	for want, change := range map[string]func(*v1alpha1.VMShape){
		`2 VMs with cpu 4 and memory 2 GiB from template "debian-12"`: func(*v1alpha1.VMShape) {},
		`2 VMs with cpu 4, coresPerSocket 2, root disk 40 GiB and memory 2 GiB from template "debian-12"`: func(s *v1alpha1.VMShape) {
			s.CoresPerSocket, s.Disks = 2, &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: 40}}
		},
	} {
		of := shape
		change(&of)
		if got := Describe(v1alpha1.Admitted{Replicas: 2, VMShape: of}); got != want {
			t.Errorf("described as %q, want %q", got, want)
		}
	}
}
