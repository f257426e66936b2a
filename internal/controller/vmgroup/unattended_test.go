package vmgroup

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestAPassTakesBackThatNobodyLooksAfterAGroup(t *testing.T) {
	r := newRig(t)
	group := r.settle()
	set := func(conditionType string, status metav1.ConditionStatus) {
		meta.SetStatusCondition(&group.Status.Conditions, metav1.Condition{Type: conditionType, Status: status, Reason: v1alpha1.ReasonNoReplica})
	}
	set(v1alpha1.ConditionUnattended, metav1.ConditionTrue)
	set(v1alpha1.ConditionReady, metav1.ConditionUnknown)
	if err := r.member.Status().Update(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	r.mustPass()
	c := r.group().Status.Conditions
	if meta.IsStatusConditionTrue(c, v1alpha1.ConditionUnattended) || !meta.IsStatusConditionTrue(c, v1alpha1.ConditionReady) {
		t.Errorf("after a pass, the conditions are %v", c)
	}
}
