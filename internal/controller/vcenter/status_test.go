package vcenter

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

func vcenterForTest() *v1alpha1.VCenter {
	return &v1alpha1.VCenter{
		ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 3},
		Spec: v1alpha1.VCenterSpec{
			Server:               "https://vc.example.com",
			CredentialsSecretRef: v1alpha1.LocalObjectReference{Name: "vc-creds"},
		},
		Status: v1alpha1.VCenterStatus{VMs: 7},
	}
}

func failing(kind vsphere.Kind) vsphere.Health {
	return vsphere.Health{Err: &vsphere.Error{Kind: kind, Op: "log in", Err: errors.New("refused")}}
}

func TestStatusSaysWhatIsWrongAndWhatToDo(t *testing.T) {
	good := vsphere.Health{Reachable: true, Complete: true, Version: "8.0.3", InstanceUUID: "u", VMs: 2, Templates: 1}
	with := func(change func(*vsphere.Health)) vsphere.Health { h := good; change(&h); return h }
	refused := failing(vsphere.KindCredentials)
	for _, c := range []struct {
		story     string
		health    vsphere.Health
		candidate *vsphere.Health
		defaults  error
		ready     metav1.ConditionStatus
		reason    string
		words     string
		vms       int32
	}{
		{story: "connected", health: good, ready: "True", reason: v1alpha1.ReasonConnected, vms: 2},
		{story: "not tried yet", ready: "False", reason: v1alpha1.ReasonConnecting, vms: 7},
		{story: "unreachable keeps the last counts", health: failing(vsphere.KindTransient), ready: "False", reason: v1alpha1.ReasonUnreachable, words: "keeps trying", vms: 7},
		{story: "wrong password", health: refused, ready: "False", reason: v1alpha1.ReasonInvalidLogin, words: `Secret "vc-creds"`, vms: 7},
		{story: "nothing on the root object", health: failing(vsphere.KindPermission), ready: "False", reason: v1alpha1.ReasonPrivilegesMissing, words: "refused", vms: 7},
		{story: "certificate", health: failing(vsphere.KindCertificate), ready: "False", reason: v1alpha1.ReasonCertificateRefused, words: "spec.tls", vms: 7},
		{story: "an answer without end", health: failing(vsphere.KindLimitExceeded), ready: "False", reason: v1alpha1.ReasonLimitExceeded, words: "more than the operator takes in", vms: 7},
		{story: "no such datacenter", health: failing(vsphere.KindNotFound), ready: "False", reason: v1alpha1.ReasonInvalidConfiguration, vms: 7},
		{story: "a wrong new password does not stop what runs", health: good, candidate: &refused, ready: "False", reason: v1alpha1.ReasonInvalidLogin, words: "The session opened with the former ones is still used", vms: 2},
		{
			story: "a default that does not exist", health: good, ready: "False", reason: v1alpha1.ReasonInvalidConfiguration, words: "nope", vms: 2,
			defaults: &vsphere.Error{Kind: vsphere.KindNotFound, Op: `find resource pool "nope"`},
		},
		{
			story: "suddenly empty", ready: "False", reason: v1alpha1.ReasonInventorySuddenlyEmpty, words: v1alpha1.AcceptEmptyAnnotation + "=u", vms: 7,
			health: with(func(h *vsphere.Health) { h.Complete, h.SuddenlyEmpty, h.VMs = false, true, 0 }),
		},
		{
			story: "inventory not read yet", ready: "False", reason: v1alpha1.ReasonInventoryIncomplete, words: "clones", vms: 7,
			health: with(func(h *vsphere.Health) { h.Complete, h.Incomplete = false, "2 clones are running" }),
		},
		{
			story: "privileges", ready: "False", reason: v1alpha1.ReasonPrivilegesMissing, words: "VirtualMachine.Provisioning.Clone", vms: 2,
			health: with(func(h *vsphere.Health) { h.MissingPrivileges = []string{"VirtualMachine.Provisioning.Clone"} }),
		},
	} {
		t.Run(c.story, func(t *testing.T) {
			l := look{health: c.health, candidate: c.candidate, defaults: c.defaults}
			s := newStatus(vcenterForTest(), l, time.Unix(100, 0))
			ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
			if ready.Status != c.ready || ready.Reason != c.reason {
				t.Errorf("Ready is %s/%s, want %s/%s", ready.Status, ready.Reason, c.ready, c.reason)
			}
			if !strings.Contains(ready.Message, c.words) {
				t.Errorf("message %q does not say %q", ready.Message, c.words)
			}
			if s.VMs != c.vms {
				t.Errorf("vms = %d, want %d", s.VMs, c.vms)
			}
			if c.candidate != nil && meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionCredentialsValid) {
				t.Error("the refused new password is not reported")
			}
			vc := vcenterForTest()
			vc.Status = s
			if again := newStatus(vc, l, time.Unix(999, 0)); !equality.Semantic.DeepEqual(s, again) {
				t.Error("the same health gives another status later: it would be written for ever")
			}
		})
	}
}

// The time of that condition decides whether a vCenter is permanently lost.
func TestSinceWhenAVCenterIsUnreachableOutlivesARestart(t *testing.T) {
	vc, now := vcenterForTest(), time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	is := func() metav1.Condition {
		if c := meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionReachable); c != nil {
			return *c
		}
		return metav1.Condition{}
	}
	see := func(health vsphere.Health) {
		now = now.Add(time.Hour)
		vc.Status = newStatus(vc, look{health: health}, now)
	}
	see(vsphere.Health{})
	if is().Type != "" {
		t.Errorf("a connection that was not tried yet says %+v", is())
	}
	see(vsphere.Health{Reachable: true, Complete: true})
	if is().Status != metav1.ConditionTrue {
		t.Errorf("a connection that works says %+v", is())
	}
	see(failing(vsphere.KindTransient))
	since := now
	see(vsphere.Health{}) // a restart
	see(failing(vsphere.KindTransient))
	if c := is(); c.Status != metav1.ConditionFalse || !c.LastTransitionTime.Time.Equal(since) || c.Reason != v1alpha1.ReasonUnreachable {
		t.Errorf("unreachable since %s, and the condition is %+v", since, c)
	}
	for _, kind := range []vsphere.Kind{vsphere.KindCredentials, vsphere.KindCertificate, vsphere.KindNotFound, vsphere.KindSpec} {
		see(failing(kind))
		if c := is(); c.Status != metav1.ConditionUnknown {
			t.Errorf("%v: a server that answers says %+v", kind, c)
		}
		see(failing(vsphere.KindTransient))
		if c := is(); c.Status != metav1.ConditionFalse || !c.LastTransitionTime.Time.Equal(now) {
			t.Errorf("%v: the time does not begin anew: %+v", kind, c)
		}
	}
	vc.Status = blockedStatus(vc, look{}, v1alpha1.ReasonSecretNotFound, "no Secret", now)
	if c := is(); c.Status != metav1.ConditionUnknown {
		t.Errorf("without a Secret, the condition is %+v", c)
	}
}

func TestWhatAVCenterSaysIsShownHarmless(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	s := newStatus(vcenterForTest(), look{health: vsphere.Health{Reachable: true, Version: "8\x1b[2J" + long, Incomplete: "VM \u202eevil\n" + long}}, time.Now())
	c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionInventoryComplete)
	if !strings.Contains(c.Message, "VM �evil x") || len(c.Message) > maxMessage {
		t.Errorf("the condition has %d bytes: %.60q", len(c.Message), c.Message)
	}
	if !strings.HasPrefix(s.Version, "8�[2Jx") || len(s.Version) > maxVersion {
		t.Errorf("the version is %q", s.Version)
	}
}

// TestTheStatusKeepsTheLastCheck: another program writes it.
func TestTheStatusKeepsTheLastCheck(t *testing.T) {
	vc := vcenterForTest()
	vc.Status.Check = &v1alpha1.VCenterCheck{Build: "1"}
	next, blocked := newStatus(vc, look{}, time.Now()), blockedStatus(vc, look{}, v1alpha1.ReasonSecretNotFound, "none", time.Now())
	if next.Check == nil || next.Check.Build != "1" || blocked.Check == nil {
		t.Errorf("the check is %+v, and %+v", next.Check, blocked.Check)
	}
}

func TestARejectedPasswordIsReportedOnce(t *testing.T) {
	vc, recorder := vcenterForTest(), events.NewFakeRecorder(10)
	r := &Reconciler{Client: clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithStatusSubresource(vc).WithObjects(vc).Build(), Events: recorder, Now: time.Now}
	says := func(reason string) v1alpha1.VCenterStatus {
		next := *vc.Status.DeepCopy()
		apply(&next, 1, time.Now(), []condition{
			{v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonInvalidLogin, "rejected"}, {v1alpha1.ConditionCredentialsValid, metav1.ConditionFalse, reason, "rejected"},
		})
		return next
	}
	if err := r.write(t.Context(), vc, says(v1alpha1.ReasonInvalidLogin)); err != nil || len(recorder.Events) != 1 {
		t.Errorf("%d events were written, want that of Ready; error %v", len(recorder.Events), err)
	}
	if err := r.write(t.Context(), vc, says(v1alpha1.ReasonSecretNotFound)); err != nil || len(recorder.Events) != 2 {
		t.Errorf("%d events were written, want one more for another reason; error %v", len(recorder.Events), err)
	}
}
