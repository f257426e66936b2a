package vmgroup

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// A group that was scaled down and up again during an outage has all its VMs, and was admitted fewer.
func TestAHoldRemovesNoVMThatSpecWants(t *testing.T) {
	for story, away := range map[string]struct{ begin, end func(*rig) }{
		"vCenter away": {
			func(r *rig) {
				r.vcenter.Disconnect(&vsphere.Error{Kind: vsphere.KindTransient, Op: "ask", Err: errors.New("refused")})
			},
			func(r *rig) { r.vcenter.Reconnect() },
		},
	} {
		t.Run(story, func(t *testing.T) {
			r := newRig(t)
			r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 4 })
			r.settle()
			away.begin(r)
			r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 1 })
			r.work()
			r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 4 })
			r.setPolicy(onlyTemplates("ubuntu-*"))
			away.end(r)
			r.vcenter.ClearJournal()
			g := r.work()
			says(t, g, v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonPolicyViolated)
			if n := len(r.vcenter.VMs()); n != 4 {
				t.Fatalf("a policy left %d of 4 VMs that spec wants: %v", n, r.vcenter.Calls(vsphere.OpDestroy))
			}
			// Lost VMs are replaced only up to the admitted number.
			r.vcenter.ByHand().Delete("web-3")
			r.vcenter.ByHand().Delete("web-0")
			if r.work(); len(r.vcenter.VMs()) != 2 || len(r.vcenter.Calls(vsphere.OpClone)) != 0 {
				t.Errorf("%d VMs, clones %v", len(r.vcenter.VMs()), r.vcenter.Calls(vsphere.OpClone))
			}
			r.vcenter.ByHand().Delete("web-1")
			r.vcenter.ByHand().Delete("web-2")
			if r.work(); len(r.vcenter.VMs()) != 1 {
				t.Errorf("%d VMs, want the one that was admitted", len(r.vcenter.VMs()))
			}
		})
	}
}

// The group is seen before its new namespace: its policies and grants are unknown yet.
func TestNothingIsClonedBeforeTheNamespaceIsKnown(t *testing.T) {
	r := newRig(t)
	namespace := &corev1.Namespace{}
	if err := r.member.Get(t.Context(), clientKey("team"), namespace); err != nil {
		t.Fatal(err)
	}
	if err := r.member.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	strict := onlyTemplates("ubuntu-*")
	strict.Match.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"env": "production"}}
	r.setPolicy(strict)
	for range 3 {
		if result := r.mustPass(); result.RequeueAfter == 0 {
			t.Error("the group is not enqueued again")
		}
	}
	if calls := r.vcenter.Calls(vsphere.OpClone); len(calls) != 0 {
		t.Fatalf("cloned although the namespace's labels are unknown: %v", calls)
	}
	namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: strict.Match.NamespaceSelector.MatchLabels}}
	if err := r.member.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	says(t, r.work(), v1alpha1.ConditionStalled, "True", v1alpha1.ReasonPolicyViolated)
	if calls := r.vcenter.Calls(vsphere.OpClone); len(calls) != 0 {
		t.Errorf("cloned against the policy: %v", calls)
	}
}

func TestAGroupIsDeletedAlsoWhenItsNamespaceIsNotKnown(t *testing.T) {
	r := newRig(t)
	g := r.settle()
	if err := r.member.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}); err != nil {
		t.Fatal(err)
	}
	if err := r.member.Delete(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		r.mustPass()
		r.vcenter.Finish(-1)
	}
	if n := len(r.vcenter.VMs()); n != 0 {
		t.Errorf("%d VMs are left", n)
	}
}

func TestAWipedStatusGivesNoQuotaBack(t *testing.T) {
	r := newRig(t)
	r.setPolicy(quotaVMs(3))
	store := &quotatest.Store{}
	ledger := r.ledgerOf(r.Reconciler, store)
	flush(t, ledger)
	r.mustPass()
	flush(t, ledger)
	r.settle()
	// It requests more than is available, and a user erases its status while vCenter is unreachable.
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 9 })
	r.work()
	for _, away := range []bool{true, false} {
		if away {
			r.vcenter.Disconnect(&vsphere.Error{Kind: vsphere.KindTransient, Op: "ask", Err: errors.New("refused")})
		} else {
			r.vcenter.Reconnect()
		}
		g := r.group()
		g.Status = v1alpha1.VmGroupStatus{}
		if err := r.member.Status().Update(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		for range 8 {
			r.inform(r.Reconciler)
			r.mustPass()
			flush(t, ledger)
			if e := store.Entries()[localKey(g.UID)]; e.Usage.VMs != 2 {
				t.Fatalf("vCenter away %v: the ledger has %d VMs of a group with 2", away, e.Usage.VMs)
			}
			r.now = r.now.Add(2 * time.Second)
		}
	}
}

func TestARefusedGroupGivesBackWhatItWasGrantedAndMayNotUse(t *testing.T) {
	r := newRig(t)
	r.setPolicy(quotaVMs(10))
	store := &quotatest.Store{}
	ledger := r.ledgerOf(r.Reconciler, store)
	flush(t, ledger)
	r.mustPass()
	flush(t, ledger)
	r.settle()
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 9 })
	r.mustPass()
	flush(t, ledger) // granted, not admitted yet
	spec, most := quotaVMs(10), int32(5)
	spec.Limits = &v1alpha1.PolicyLimits{Replicas: &v1alpha1.CountRange{Max: &most}}
	r.setPolicy(spec)
	g := r.work()
	flush(t, ledger)
	says(t, g, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonPolicyViolated)
	if e := store.Entries()[localKey(g.UID)]; e.Usage.VMs != 2 {
		t.Errorf("a group that is held at 2 VMs keeps %d from others", e.Usage.VMs)
	}
}

func TestNothingIsWrittenForASettledGroupUnderPoliciesAndQuotas(t *testing.T) {
	r := newRig(t)
	r.setPolicy(quotaVMs(3))
	ledger := r.ledgerOf(r.Reconciler, &quotatest.Store{})
	flush(t, ledger)
	r.mustPass()
	flush(t, ledger)
	r.settle()
	steady := func(story string) {
		t.Helper()
		r.work()
		before := r.group()
		for range 5 {
			r.mustPass()
			flush(t, ledger)
			r.now = r.now.Add(time.Hour)
		}
		if after := r.group(); after.ResourceVersion != before.ResourceVersion {
			t.Errorf("%s: status was written without a change: %+v\nbefore %+v", story, after.Status, before.Status)
		}
	}
	steady("settled")
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 5 })
	steady("held by a quota")
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Template, s.Placement = "nope", &v1alpha1.Placement{} })
	steady("not found")
	tight := onlyTemplates("ubuntu-*")
	tight.Quota = quotaVMs(3).Quota
	r.setPolicy(tight)
	steady("held by a policy")
	if calls := r.vcenter.Calls(vsphere.OpClone); len(calls) != 2 {
		t.Errorf("clones %v", calls)
	}
}

// A spec from which no VM can be cloned does not replace one from which a VM can be cloned.
func TestAnUnusableSpecDoesNotReplaceWhatWasAdmitted(t *testing.T) {
	for story, spoil := range map[string]func(*v1alpha1.VmGroupSpec){
		"no cpu":    func(s *v1alpha1.VmGroupSpec) { s.CPU = 0 },
		"no memory": func(s *v1alpha1.VmGroupSpec) { s.Memory = 0 },
		"no spec":   func(s *v1alpha1.VmGroupSpec) { *s = v1alpha1.VmGroupSpec{} },
		"user data that the member does not allow": func(s *v1alpha1.VmGroupSpec) {
			s.UserDataSecretRef = &v1alpha1.LocalObjectReference{Name: "x"}
		},
	} {
		t.Run(story, func(t *testing.T) {
			r := newRig(t)
			r.setPolicy(onlyTemplates("*"))
			before := r.settle()
			r.edit(spoil)
			g := r.work()
			if a := g.Status.Admitted; a == nil || *a != *before.Status.Admitted {
				t.Errorf("admitted %+v, was %+v", a, before.Status.Admitted)
			}
			if c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionPolicyCompliant); c.Status == metav1.ConditionTrue {
				t.Errorf("policy complies with nothing: %+v", c)
			}
			if len(r.vcenter.VMs()) != 2 {
				t.Errorf("%d VMs", len(r.vcenter.VMs()))
			}
		})
	}
}

func TestUserDataThatIsNotAllowedIsHeldAtWhatWasAdmitted(t *testing.T) {
	r := newRig(t)
	old := r.settle().Status.UpdateRevision
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.UserDataSecretRef = &v1alpha1.LocalObjectReference{Name: "x"} })
	r.vcenter.ByHand().Delete("web-1")
	says(t, r.work(), v1alpha1.ConditionStalled, "True", v1alpha1.ReasonNotGranted)
	if vm := r.vm("web-1"); vm == nil || vm.Stamp.Revision != old {
		t.Errorf("the lost VM came back as %+v", vm)
	}
}

func TestUserDataThatIsNotAllowedIsSaidOfANewGroup(t *testing.T) {
	r := newRig(t)
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.UserDataSecretRef = &v1alpha1.LocalObjectReference{Name: "x"} })
	g := r.work()
	says(t, g, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonUserDataDenied)
	if g.Status.Admitted != nil || len(r.vcenter.Calls(vsphere.OpClone)) != 0 {
		t.Errorf("admitted %+v, clones %v", g.Status.Admitted, r.vcenter.Calls(vsphere.OpClone))
	}
}
