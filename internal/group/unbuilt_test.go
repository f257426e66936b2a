package group

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

func TestAFieldWithoutEffectIsToldAndHoldsNothingUp(t *testing.T) {
	f := running()
	plain := f.Status()
	f.Spec.Placement = &v1alpha1.Placement{AntiAffinity: v1alpha1.AntiAffinityPreferred}
	told := f.Status()
	got := meta.FindStatusCondition(told.Conditions, v1alpha1.ConditionFieldsWithoutEffect)
	if got == nil || got.Status != metav1.ConditionTrue || got.Reason != v1alpha1.ReasonNotSupported {
		t.Fatalf("the condition is %+v", got)
	}
	if !strings.Contains(got.Message, "spec.placement.antiAffinity ") {
		t.Errorf("%q does not say which field", got.Message)
	}
	if told.Phase != plain.Phase || told.LastMessage != plain.LastMessage || len(told.Conditions) != len(plain.Conditions)+1 {
		t.Errorf("it changes more than one condition: %s, %q, %+v", told.Phase, told.LastMessage, told.Conditions)
	}

	f.Old, f.Spec.Placement = told, &v1alpha1.Placement{AntiAffinity: v1alpha1.AntiAffinityNone}
	if c := meta.FindStatusCondition(f.Status().Conditions, v1alpha1.ConditionFieldsWithoutEffect); c != nil {
		t.Errorf("nobody sets a field without effect any more, and status says %+v", c)
	}
}

func TestAFieldWithoutEffectIsToldWhateverElseIsTrue(t *testing.T) {
	for story, c := range map[string]struct {
		change func(*Facts)
		told   bool
	}{
		"all is well": {func(*Facts) {}, true},
		"vCenter is away": {func(f *Facts) {
			f.Complete, f.Unavailable = false, &plan.Blocker{Reason: v1alpha1.ReasonVCenterUnreachable, Message: "away"}
		}, true},
		"the group is paused": {func(f *Facts) {
			f.Plan.Blockers = []plan.Blocker{{Reason: v1alpha1.ReasonPaused, Message: "spec.paused is true"}}
		}, true},
		"the group goes away": {func(f *Facts) { f.Deleting = true }, false},
	} {
		f := running()
		f.Spec.Placement = &v1alpha1.Placement{AntiAffinity: v1alpha1.AntiAffinityPreferred}
		c.change(&f)
		s := f.Status()
		if got := meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionFieldsWithoutEffect); got != c.told {
			t.Errorf("%s: told: %v, want %v", story, got, c.told)
		}
	}
}
