package vcenter

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
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
		{story: "certificate", health: failing(vsphere.KindCertificate), ready: "False", reason: v1alpha1.ReasonCertificateRefused, words: "spec.tls", vms: 7},
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
