package member

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/admission"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/link"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

func TestAdmissionCondition(t *testing.T) {
	installed := &admission.Finding{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAdmissionInstalled, Message: "fine"}
	away := &remote.Problem{Reason: v1alpha1.ReasonMemberUnreachable}
	input := func(change func(*statusInput)) statusInput {
		in := statusInput{admission: true, now: testNow, seen: engagedObservation(), caBundle: "new"}
		in.seen.Admission, in.seen.Acknowledged = installed, ptr.To("new")
		change(&in)
		return in
	}
	before, _ := computeStatus(input(func(in *statusInput) { in.caBundle, in.seen.Acknowledged = "old", ptr.To("old") }))
	silent, _ := computeStatus(input(func(in *statusInput) {
		in.previous = before
		in.seen = link.Observation{State: link.Refused, Problem: away}
	}))
	for _, test := range []struct {
		story  string
		in     statusInput
		status metav1.ConditionStatus
		reason string
		hash   string
	}{
		{"first look", input(func(in *statusInput) { in.seen = link.Observation{} }), metav1.ConditionUnknown, v1alpha1.ReasonAdmissionPending, ""},
		{"installed", input(func(*statusInput) {}), metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled, "new"},
		{"operator restarted", input(func(in *statusInput) { in.previous, in.seen = before, link.Observation{} }),
			metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled, "old"},
		{"silent, with the current bundle", input(func(in *statusInput) { in.previous, in.seen.State, in.seen.Problem = before, link.Silent, away }),
			metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled, "new"},
		{"silent, with an old bundle", input(func(in *statusInput) {
			in.previous, in.seen.State, in.seen.Problem, in.seen.Acknowledged = before, link.Silent, away, ptr.To("old")
		}), metav1.ConditionUnknown, v1alpha1.ReasonCABundleBehind, "old"},
		{"not reached since the restart, with an old bundle", input(func(in *statusInput) {
			in.previous, in.seen = before, link.Observation{State: link.Refused, Problem: away}
		}), metav1.ConditionUnknown, v1alpha1.ReasonCABundleBehind, "old"},
		{"kubeconfig refused, with an old bundle", input(func(in *statusInput) {
			in.previous, in.seen, in.config = before, link.Observation{}, &remote.Problem{Reason: v1alpha1.ReasonKubeconfigRefused}
		}), metav1.ConditionUnknown, v1alpha1.ReasonCABundleBehind, "old"},
		{"silent, and never had a webhook", input(func(in *statusInput) {
			in.seen = link.Observation{State: link.Refused, Problem: away}
		}), metav1.ConditionUnknown, v1alpha1.ReasonAdmissionPending, ""},
		{"silent, and the old bundle is the current one again", input(func(in *statusInput) {
			in.previous, in.caBundle = silent, "old"
			in.seen = link.Observation{State: link.Refused, Problem: away}
		}), metav1.ConditionUnknown, v1alpha1.ReasonAdmissionPending, "old"},
		{"only the bootstrap identity's address is silent", input(func(in *statusInput) {
			in.previous = before
			in.seen.Admission = &admission.Finding{Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonAdmissionPending, Message: "silent"}
		}), metav1.ConditionUnknown, v1alpha1.ReasonAdmissionPending, "new"},
		{"refused", input(func(in *statusInput) {
			in.previous, in.seen.Acknowledged = before, nil
			in.seen.Admission = &admission.Finding{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonAdmissionForbidden, Message: "no"}
		}), metav1.ConditionFalse, v1alpha1.ReasonAdmissionForbidden, "old"},
		{"the webhook was removed", input(func(in *statusInput) {
			in.previous, in.caBundle, in.seen.Acknowledged = before, "", ptr.To("")
		}), metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled, ""},
	} {
		t.Run(test.story, func(t *testing.T) {
			status, _ := computeStatus(test.in)
			got := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionAdmissionReady)
			if got == nil || got.Status != test.status || got.Reason != test.reason || got.Message == "" || status.CABundleHash != test.hash {
				t.Errorf("hash %q, condition %+v", status.CABundleHash, got)
			}
		})
	}
	without, _ := computeStatus(input(func(in *statusInput) { in.admission = false }))
	if meta.FindStatusCondition(without.Conditions, v1alpha1.ConditionAdmissionReady) != nil {
		t.Error("without admission objects there is nothing to say")
	}
}

func TestTheSegmentIsAcknowledgedWithTheBundle(t *testing.T) {
	in := statusInput{admission: true, now: testNow, seen: engagedObservation(), caBundle: "new"}
	in.previous.SegmentPeriod = 7
	in.seen.Segment = 8 // no bundle is acknowledged yet
	if status, _ := computeStatus(in); status.SegmentPeriod != 7 {
		t.Errorf("period %d, although the member has not taken another", status.SegmentPeriod)
	}
	in.seen.Acknowledged = ptr.To("new")
	if status, _ := computeStatus(in); status.SegmentPeriod != 8 {
		t.Errorf("period %d, want the one that the member took", status.SegmentPeriod)
	}
	in.config = &remote.Problem{Reason: v1alpha1.ReasonKubeconfigRefused}
	if status, _ := computeStatus(in); status.SegmentPeriod != 7 {
		t.Errorf("period %d of a member that cannot be reached", status.SegmentPeriod)
	}
}
