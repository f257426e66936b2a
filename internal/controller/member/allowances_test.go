package member

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
)

func TestEveryAllowanceOfAMemberThatDoesNotCountIsTold(t *testing.T) {
	now := testNow.Truncate(time.Second) // in the format of annotations
	for annotation, setting := range map[string]func(fleet.Settings) time.Time{
		v1alpha1.AllowMassDeletionAnnotation: func(s fleet.Settings) time.Time { return s.AllowedUntil },
		v1alpha1.AllowAdoptionAnnotation:     func(s fleet.Settings) time.Time { return s.AdoptionUntil },
		v1alpha1.AllowForgetAnnotation:       func(s fleet.Settings) time.Time { return s.ForgetAllowed },
		v1alpha1.AcceptAdmittedAnnotation:    func(s fleet.Settings) time.Time { return s.AcceptAdmitted },
	} {
		mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}}
		tells := func(value, want string) {
			t.Helper()
			mc.Annotations = map[string]string{annotation: value}
			in := statusInput{name: "team-a", previous: mc.Status, now: now}
			in.allowanceProblem, _ = allowanceProblem(mc, now)
			mc.Status, _ = computeStatus(in)
			c := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionInvalidAllowances)
			if (c != nil) != (want != "") || c != nil && (c.Status != metav1.ConditionTrue || c.Reason != v1alpha1.ReasonAllowanceInvalid || !strings.Contains(c.Message, want)) {
				t.Errorf("%s=%s: the condition is %+v", annotation, value, c)
			}
		}
		tells("tomorrow", "kubectl annotate membercluster team-a "+annotation+"=")
		if !setting(settingsOf(mc)).IsZero() {
			t.Errorf("%s: a word allows something", annotation)
		}
		until := now.Add(time.Hour)
		tells(until.Add(time.Minute).In(time.FixedZone("", 7200)).Format(time.RFC3339), "allows nothing before "+now.Add(time.Minute).Format(time.RFC3339))
		tells(until.Format(time.RFC3339), "")
		if is := setting(settingsOf(mc)); !is.Equal(until) {
			t.Errorf("%s allows something until %s", annotation, is)
		}
		_, again := allowanceProblem(&v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotation: until.Add(time.Minute).Format(time.RFC3339)}}}, now)
		if !again.Equal(now.Add(time.Minute)) {
			t.Errorf("%s is checked again at %s", annotation, again)
		}
	}
}
