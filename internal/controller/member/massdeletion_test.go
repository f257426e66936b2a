package member

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
)

func allowing(value string) *v1alpha1.MemberCluster {
	return &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "team-a", Annotations: map[string]string{v1alpha1.AllowMassDeletionAnnotation: value}}}
}

func TestAnAllowanceThatDoesNotCountIsTold(t *testing.T) {
	at := func(d time.Duration) string { return testNow.Add(d).Format(time.RFC3339) }
	for name, test := range map[string]struct {
		value, says string
		again       bool
	}{
		"none":                       {"", "", false},
		"in time":                    {at(30 * time.Minute), "", false},
		"in another time zone":       {testNow.Add(30 * time.Minute).In(time.FixedZone("", 7200)).Format(time.RFC3339), "", false},
		"over":                       {at(-time.Minute), "", false},
		"too far ahead":              {at(3 * time.Hour), "more than an hour ahead, and allows nothing before 2026-03-01T14:00:00Z", true},
		"a time of day":              {"13:00", `is "13:00", which is no time in RFC 3339`, false},
		"a word":                     {"true", "kubectl annotate membercluster team-a ", false},
		"a value that is no message": {strings.Repeat("x", 1<<16), "no time in RFC 3339", false},
	} {
		t.Run(name, func(t *testing.T) {
			mc := allowing(test.value)
			problem, again := allowanceProblem(mc, testNow)
			if (problem == "") != (test.says == "") || !strings.Contains(problem, test.says) || len(problem) > 1000 || again.IsZero() == test.again {
				t.Errorf("%q, again at %s", problem, again)
			}
			in := statusInput{name: "team-a", allowanceProblem: problem, now: testNow}
			status, _ := computeStatus(in)
			c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionMassDeletion)
			if (c != nil) != (test.says != "") || c != nil && c.Reason != v1alpha1.ReasonAllowanceInvalid {
				t.Errorf("the condition is %+v", c)
			}
			in.previous, in.allowanceProblem = status, ""
			if status, _ = computeStatus(in); meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionMassDeletion) != nil {
				t.Error("the condition stays")
			}
			allows, _ := massdeletion.Allows(settingsOf(mc).allowedUntil, testNow)
			if allows != strings.HasPrefix(name, "in ") {
				t.Errorf("allows: %t", allows)
			}
		})
	}
}

func TestHowMuchIsHeldIsTold(t *testing.T) {
	in := statusInput{name: "team-a", now: testNow, counts: &counts{groups: 9, vms: 90, heldGroups: 4, heldVMs: 12}, allowanceProblem: "The annotation is wrong"}
	status, _ := computeStatus(in)
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionMassDeletion)
	if c == nil || c.Reason != v1alpha1.ReasonRemovalsHeld || status.HeldGroups != 4 || status.HeldVMs != 12 {
		t.Fatalf("%+v, %+v", c, status)
	}
	for _, want := range []string{"12 VMs of 4 VmGroups", massdeletion.AllowCommand("team-a"), "The annotation is wrong"} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("%q is not in %q", want, c.Message)
		}
	}
	in.previous, in.counts = status, nil
	if status, _ = computeStatus(in); meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionMassDeletion) == nil {
		t.Error("while nobody counts nothing is held any more")
	}
	in.counts, in.allowanceProblem = &counts{groups: 9, vms: 78}, ""
	if status, _ = computeStatus(in); meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionMassDeletion) != nil {
		t.Error("the condition stays")
	}
}

func TestTheLimitOfAMemberIsASetting(t *testing.T) {
	n := intstr.FromInt32(25)
	mc := &v1alpha1.MemberCluster{}
	usual := settingsOf(mc)
	mc.Spec.MassDeletion = &v1alpha1.MassDeletion{MaxVMs: &n}
	another := settingsOf(mc)
	if usual.massDeletion != (massdeletion.Limit{}) || another == usual || another.massDeletion != massdeletion.LimitOf(&n) {
		t.Errorf("%+v, %+v", usual, another)
	}
	again := intstr.FromInt32(25)
	mc.Spec.MassDeletion.MaxVMs = &again
	if settingsOf(mc) != another {
		t.Error("the same limit is another setting, and all groups of the member are looked at for nothing")
	}
}
