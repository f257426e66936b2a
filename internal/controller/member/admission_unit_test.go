package member

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

func TestAdmissionCondition(t *testing.T) {
	installed := &admissionFinding{metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled, "fine"}
	away := &remote.Problem{Reason: v1alpha1.ReasonMemberUnreachable}
	input := func(change func(*statusInput)) statusInput {
		in := statusInput{admission: true, now: testNow, seen: engagedObservation(), caBundle: "new"}
		in.seen.admission, in.seen.acknowledged = installed, ptr.To("new")
		change(&in)
		return in
	}
	before, _ := computeStatus(input(func(in *statusInput) { in.caBundle, in.seen.acknowledged = "old", ptr.To("old") }))
	silent, _ := computeStatus(input(func(in *statusInput) {
		in.previous = before
		in.seen = observation{phase: phaseFailing, problem: away}
	}))
	for _, test := range []struct {
		story  string
		in     statusInput
		status metav1.ConditionStatus
		reason string
		hash   string
	}{
		{"first look", input(func(in *statusInput) { in.seen = observation{} }), metav1.ConditionUnknown, v1alpha1.ReasonAdmissionPending, ""},
		{"installed", input(func(*statusInput) {}), metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled, "new"},
		{"operator restarted", input(func(in *statusInput) { in.previous, in.seen = before, observation{} }),
			metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled, "old"},
		{"silent, with the current bundle", input(func(in *statusInput) { in.previous, in.seen.problem = before, away }),
			metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled, "new"},
		{"silent, with an old bundle", input(func(in *statusInput) {
			in.previous, in.seen.problem, in.seen.acknowledged = before, away, ptr.To("old")
		}), metav1.ConditionUnknown, v1alpha1.ReasonCABundleBehind, "old"},
		{"not reached since the restart, with an old bundle", input(func(in *statusInput) {
			in.previous, in.seen = before, observation{phase: phaseFailing, problem: away}
		}), metav1.ConditionUnknown, v1alpha1.ReasonCABundleBehind, "old"},
		{"kubeconfig refused, with an old bundle", input(func(in *statusInput) {
			in.previous, in.seen, in.config = before, observation{}, &remote.Problem{Reason: v1alpha1.ReasonKubeconfigRefused}
		}), metav1.ConditionUnknown, v1alpha1.ReasonCABundleBehind, "old"},
		{"silent, and never had a webhook", input(func(in *statusInput) {
			in.seen = observation{phase: phaseFailing, problem: away}
		}), metav1.ConditionUnknown, v1alpha1.ReasonAdmissionPending, ""},
		{"silent, and the old bundle is the current one again", input(func(in *statusInput) {
			in.previous, in.caBundle = silent, "old"
			in.seen = observation{phase: phaseFailing, problem: away}
		}), metav1.ConditionUnknown, v1alpha1.ReasonAdmissionPending, "old"},
		{"only the bootstrap identity's address is silent", input(func(in *statusInput) {
			in.previous = before
			in.seen.admission = &admissionFinding{metav1.ConditionUnknown, v1alpha1.ReasonAdmissionPending, "silent"}
		}), metav1.ConditionUnknown, v1alpha1.ReasonAdmissionPending, "new"},
		{"refused", input(func(in *statusInput) {
			in.previous, in.seen.acknowledged = before, nil
			in.seen.admission = &admissionFinding{metav1.ConditionFalse, v1alpha1.ReasonAdmissionForbidden, "no"}
		}), metav1.ConditionFalse, v1alpha1.ReasonAdmissionForbidden, "old"},
		{"the webhook was removed", input(func(in *statusInput) {
			in.previous, in.caBundle, in.seen.acknowledged = before, "", ptr.To("")
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

func TestAdmissionIsReadyOnceDefaultsAreInPlace(t *testing.T) {
	for _, c := range []struct {
		story     string
		noWebhook string
		serves    bool
		lag       time.Duration
		status    metav1.ConditionStatus
		reason    string
		says      string
	}{
		{"policies and webhook", "", true, 0, metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled, "are in place"},
		{"the webhook fills in until the policy comes", "", true, time.Second, metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled, "are in place"},
		{"the webhook alone", "", false, 0, metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled, "are in place"},
		{"policies alone", "No URL.", true, 0, metav1.ConditionTrue, v1alpha1.ReasonNoWebhook, "The webhook is not: No URL."},
		{"the policy has to wait", "No URL.", true, 7 * time.Second, metav1.ConditionFalse, v1alpha1.ReasonAdmissionPending, "It comes in 7s."},
		{"nothing ever does", "No URL.", false, 7 * time.Second, metav1.ConditionTrue, v1alpha1.ReasonNoWebhook, "Nothing fills in defaults"},
	} {
		got := installedFinding(install.Bundle{NoWebhook: c.noWebhook}, c.serves, c.lag)
		if got.status != c.status || got.reason != c.reason || !strings.Contains(got.message, c.says) {
			t.Errorf("%s: %+v", c.story, got)
		}
		k := &admissionKeeper{serves: c.serves, schemaLag: c.lag}
		kept := k.compare(t.Context(), install.Bundle{NoWebhook: c.noWebhook}).finding
		if kept.status != c.status || kept.reason != v1alpha1.ReasonAdmissionNotManaged || !strings.Contains(kept.message, c.says) {
			t.Errorf("%s, and somebody else keeps the objects: %+v", c.story, kept)
		}
	}
}

func TestTheSegmentIsAcknowledgedWithTheBundle(t *testing.T) {
	in := statusInput{admission: true, now: testNow, seen: engagedObservation(), caBundle: "new"}
	in.previous.SegmentPeriod = 7
	in.seen.segment = 8 // nothing is acknowledged yet
	if status, _ := computeStatus(in); status.SegmentPeriod != 7 {
		t.Errorf("period %d, although the member has not taken another", status.SegmentPeriod)
	}
	in.seen.acknowledged = ptr.To("new")
	if status, _ := computeStatus(in); status.SegmentPeriod != 8 {
		t.Errorf("period %d, want the one that the member took", status.SegmentPeriod)
	}
	in.config = &remote.Problem{Reason: v1alpha1.ReasonKubeconfigRefused}
	if status, _ := computeStatus(in); status.SegmentPeriod != 7 {
		t.Errorf("period %d of a member that cannot be reached", status.SegmentPeriod)
	}
}

func TestWhatWasAcknowledgedInAnEarlierTermCountsNoMore(t *testing.T) {
	leads := shardingtest.Leader(true)
	p, err := NewProvider(settings.Options{Namespace: "operator", InstallationUID: "one", Fleet: newFleet(), Leader: &leads})
	if err != nil {
		t.Fatal(err)
	}
	c := newConnection(p, settings.Target{Name: "alpha"}, nil)
	p.connections["alpha"] = c
	p.ensure(c.target, true)
	k := &admissionKeeper{c: c}
	k.term, _ = c.commission()
	found := outcome{finding: admissionFinding{status: metav1.ConditionTrue}, acknowledged: ptr.To("hash"), segment: 5}
	k.publish(found)
	if seen, _ := p.observe("alpha"); seen.acknowledged == nil || *seen.acknowledged != "hash" || seen.segment != 5 {
		t.Fatalf("seen: %+v", seen)
	}
	p.ensure(c.target, false)
	p.ensure(c.target, true)
	if seen, _ := p.observe("alpha"); seen.acknowledged != nil || seen.admission != nil {
		t.Errorf("after another leader's term: %+v", seen)
	}
	k.publish(found) // a pass that was under way all the time
	if seen, _ := p.observe("alpha"); seen.acknowledged != nil || seen.admission != nil {
		t.Errorf("a pass of the earlier term is published: %+v", seen)
	}
}
