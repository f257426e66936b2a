package member

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
)

func TestHowMuchIsHeldIsTold(t *testing.T) {
	in := statusInput{name: "team-a", now: testNow, counts: &counts{groups: 9, vms: 90, heldGroups: 4, heldVMs: 12}}
	status, _ := computeStatus(in)
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionMassDeletion)
	if c == nil || c.Reason != v1alpha1.ReasonRemovalsHeld || status.HeldGroups != 4 || status.HeldVMs != 12 {
		t.Fatalf("%+v, %+v", c, status)
	}
	for _, want := range []string{"12 VMs of 4 VmGroups", massdeletion.AllowCommand("team-a")} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("%q is not in %q", want, c.Message)
		}
	}
	in.previous, in.counts = status, nil
	if status, _ = computeStatus(in); meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionMassDeletion) == nil {
		t.Error("without counts, the condition was removed")
	}
	in.counts = &counts{groups: 9, vms: 78}
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
	if usual.MassDeletion != (massdeletion.Limit{}) || another == usual || another.MassDeletion != massdeletion.LimitOf(&n) {
		t.Errorf("%+v, %+v", usual, another)
	}
	again := intstr.FromInt32(25)
	mc.Spec.MassDeletion.MaxVMs = &again
	if settingsOf(mc) != another {
		t.Error("an equal limit gives different settings, which enqueues all groups of the member")
	}
}
