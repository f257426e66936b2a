//go:build unix && !fast

package member

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

func TestAdmissionObjectsAreInstalledRepairedAndRemoved(t *testing.T) {
	servers := clustersForTest(t)
	oldCA, newCA := servers.alpha.Config.CAData, servers.beta.Config.CAData
	fake := &fakeAdmission{ca: oldCA, limit: 3}
	in := installed(t, servers.hub, "admission", withAdmission(fake))
	member := directClient(t, servers.alpha.Config)
	in.join("alpha", servers.alpha.Kubeconfig(), func(mc *v1alpha1.MemberCluster) {
		mc.Spec.Admission = &v1alpha1.MemberAdmission{URL: "https://hub.test:9443"}
	})
	in.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled)
	in.awaitAcknowledged("alpha", oldCA)
	checkInstalled(t, member)
	target := fake.lastTarget()
	if target.Name != "alpha" || target.UID != in.get("alpha").UID || target.URL != "https://hub.test:9443" ||
		target.FailurePolicy != v1alpha1.AdmissionIgnore || !target.ServesMutatingPolicies || len(target.Exempt) != 1 || target.Leaving {
		t.Errorf("target = %+v", target)
	}
	awaitLimit(t, member, 3)

	t.Run("a deleted object comes back", func(t *testing.T) {
		if err := member.Delete(t.Context(), admissionObject(t, member, "ValidatingAdmissionPolicyBinding")); err != nil {
			t.Fatal(err)
		}
		awaitObject(t, member, "ValidatingAdmissionPolicyBinding", func(object *unstructured.Unstructured) bool { return object != nil })
	})
	t.Run("an edited object is put back", func(t *testing.T) {
		object := admissionObject(t, member, "ValidatingAdmissionPolicy")
		if err := unstructured.SetNestedField(object.Object, "Ignore", "spec", "failurePolicy"); err != nil {
			t.Fatal(err)
		}
		if err := member.Update(t.Context(), object, client.FieldOwner("another-writer")); err != nil {
			t.Fatal(err)
		}
		awaitObject(t, member, "ValidatingAdmissionPolicy", func(object *unstructured.Unstructured) bool {
			policy, _, _ := unstructured.NestedString(object.Object, "spec", "failurePolicy")
			return policy == "Fail"
		})
	})
	t.Run("policies change", func(t *testing.T) {
		fake.change(func(f *fakeAdmission) { f.limit = 5 })
		awaitLimit(t, member, 5)
	})
	t.Run("the authority changes", func(*testing.T) {
		fake.change(func(f *fakeAdmission) { f.ca = newCA })
		in.awaitAcknowledged("alpha", newCA)
	})
	t.Run("spec.admission changes", func(t *testing.T) {
		before, err := in.provider.Get(t.Context(), "alpha")
		if err != nil {
			t.Fatal(err)
		}
		in.edit("alpha", func(mc *v1alpha1.MemberCluster) { mc.Spec.Admission.FailurePolicy = v1alpha1.AdmissionFail })
		awaitObject(t, member, "ValidatingWebhookConfiguration", func(object *unstructured.Unstructured) bool {
			webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
			return webhooks[0].(map[string]any)["failurePolicy"] == "Fail"
		})
		if after, err := in.provider.Get(t.Context(), "alpha"); err != nil || after != before {
			t.Errorf("the connection was replaced (%v)", err)
		}
	})
	t.Run("the webhook goes", func(t *testing.T) {
		fake.change(func(f *fakeAdmission) { f.ca = nil })
		in.awaitAcknowledged("alpha", nil)
		_, condition := in.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonNoWebhook)
		if !strings.Contains(condition.Message, "there is no certificate.") {
			t.Errorf("message = %q", condition.Message)
		}
		if admissionObject(t, member, "ValidatingWebhookConfiguration") != nil {
			t.Error("the hash is acknowledged as none though the webhook configuration is there")
		}
	})
	in.awaitChecks("alpha", 5)
	settled := in.get("alpha").ResourceVersion
	in.awaitChecks("alpha", 5)
	if now := in.get("alpha").ResourceVersion; now != settled {
		t.Errorf("an idle member's status is written: %s -> %s", settled, now)
	}
}

// checkInstalled verifies that all of the fake's objects exist and are applied.
func checkInstalled(t *testing.T, member client.Client) {
	t.Helper()
	for _, kind := range fakeKinds {
		object := admissionObject(t, member, kind)
		if object == nil {
			t.Fatalf("there is no %s", kind)
		}
		if managers := object.GetManagedFields(); managers[0].Manager != install.FieldManager || managers[0].Operation != metav1.ManagedFieldsOperationApply {
			t.Errorf("managedFields of %s = %+v", kind, managers)
		}
	}
}

// awaitLimit waits until the member's admission policy allows exactly limit replicas.
func awaitLimit(t *testing.T, member client.Client, limit int32) {
	t.Helper()
	try := func(replicas int32) error {
		group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "limited"}}
		group.Spec.CPU, group.Spec.Memory, group.Spec.Template, group.Spec.Replicas = 1, 1, "any", ptr.To(replicas)
		return member.Create(t.Context(), group, client.DryRunAll)
	}
	await.NoError(t, fmt.Sprintf("limit of %d", limit), func() error {
		if err := try(limit); err != nil {
			return err
		}
		if err := try(limit + 1); !apierrors.IsInvalid(err) {
			return fmt.Errorf("one more: %w", errors.Join(err, errors.New("it is not refused as it should be")))
		}
		return nil
	})
}

func awaitObject(t *testing.T, member client.Client, kind string, good func(*unstructured.Unstructured) bool) {
	t.Helper()
	await.NoError(t, kind, func() error {
		if object := admissionObject(t, member, kind); !good(object) {
			return fmt.Errorf("found %v", object)
		}
		return nil
	})
}

func TestAMemberThatRefusesAnObjectStillLearnsTheCABundle(t *testing.T) {
	servers := clustersForTest(t)
	fake := &fakeAdmission{ca: servers.alpha.Config.CAData, limit: 3, broken: "ValidatingAdmissionPolicyBinding"}
	in := installed(t, servers.hub, "refuses", withAdmission(fake))
	member := directClient(t, servers.alpha.Config)
	in.join("alpha", servers.alpha.Kubeconfig())
	_, condition := in.awaitAdmission("alpha", metav1.ConditionFalse, v1alpha1.ReasonAdmissionFailed)
	if !strings.Contains(condition.Message, "ValidatingAdmissionPolicyBinding vmgroup-operator: ") {
		t.Errorf("message = %q", condition.Message)
	}
	in.awaitEngaged("alpha")
	// The objects after the refused one are not created.
	if admissionObject(t, member, "ValidatingAdmissionPolicy") == nil || admissionObject(t, member, "ValidatingWebhookConfiguration") != nil {
		t.Error("the order of installation was not kept")
	}
	if hash := in.get("alpha").Status.CABundleHash; hash != "" {
		t.Errorf("acknowledged %q without a webhook configuration", hash)
	}
	fake.change(func(f *fakeAdmission) { f.broken = "" })
	in.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled)
	in.awaitAcknowledged("alpha", servers.alpha.Config.CAData)
	// Existing objects are updated, whatever is refused before them.
	fake.change(func(f *fakeAdmission) {
		f.broken, f.ca = "ValidatingAdmissionPolicyBinding", servers.beta.Config.CAData
	})
	in.awaitAcknowledged("alpha", servers.beta.Config.CAData)
	in.awaitAdmission("alpha", metav1.ConditionFalse, v1alpha1.ReasonAdmissionFailed)
}

func TestABundleIsAcknowledgedOnlyAfterItWasAccepted(t *testing.T) {
	servers := clustersForTest(t)
	proxy := newProxy(t, servers.alpha)
	fake := &fakeAdmission{ca: servers.alpha.Config.CAData, limit: 3}
	in := installed(t, servers.hub, "accepted", withAdmission(fake))
	in.join("alpha", viaProxy(t, proxy))
	in.awaitAcknowledged("alpha", servers.alpha.Config.CAData)
	member := directClient(t, servers.alpha.Config)
	awaitObject(t, member, "ValidatingWebhookConfiguration", func(object *unstructured.Unstructured) bool { return object != nil })

	held := make(chan struct{})
	release := make(chan struct{})
	arrived := sync.OnceFunc(func() { close(held) })
	let := sync.OnceFunc(func() { close(release) })
	t.Cleanup(let)
	proxy.Hook(func(call localcluster.APICall) faultproxy.Fault {
		if call.Resource == "validatingwebhookconfigurations" && call.Verb == "patch" {
			arrived()
			<-release
		}
		return faultproxy.Fault{}
	})
	fake.change(func(f *fakeAdmission) { f.ca = servers.beta.Config.CAData })
	await.Received(t, "the update of the webhook configuration", held)
	in.awaitChecks("alpha", 3)
	if hash := in.get("alpha").Status.CABundleHash; hash != hashOf(servers.alpha.Config.CAData) {
		t.Errorf("acknowledged %q before the member accepted it", hash)
	}
	let()
	in.awaitAcknowledged("alpha", servers.beta.Config.CAData)
}

func TestAnUnreachableMemberKeepsItsHashAndComesBack(t *testing.T) {
	servers := clustersForTest(t)
	proxy := newProxy(t, servers.alpha)
	oldCA, newCA := servers.alpha.Config.CAData, servers.beta.Config.CAData
	fake := &fakeAdmission{ca: oldCA, limit: 3}
	in := installed(t, servers.hub, "away", withAdmission(fake))
	in.join("alpha", viaProxy(t, proxy))
	in.awaitAcknowledged("alpha", oldCA)
	in.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled)

	proxy.Hook(func(localcluster.APICall) faultproxy.Fault { return faultproxy.Fault{Act: faultproxy.CutBefore} })
	in.awaitReady("alpha", metav1.ConditionFalse, v1alpha1.ReasonMemberUnreachable)
	in.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled)
	fake.change(func(f *fakeAdmission) { f.ca = newCA })
	in.awaitAdmission("alpha", metav1.ConditionUnknown, v1alpha1.ReasonCABundleBehind)
	if hash := in.get("alpha").Status.CABundleHash; hash != hashOf(oldCA) {
		t.Errorf("hash = %q", hash)
	}
	t.Run("also after a restart of the operator", func(t *testing.T) {
		in.stop()
		in.start(servers.hub.Config, in.opts)
		await.NoError(t, "the new process to fail as well", func() error { // from an earlier status
			if seen := in.provider.Observe("alpha"); seen.Problem == nil {
				return fmt.Errorf("seen: %+v", seen)
			}
			return nil
		})
		in.awaitReady("alpha", metav1.ConditionFalse, v1alpha1.ReasonMemberUnreachable)
		in.awaitAdmission("alpha", metav1.ConditionUnknown, v1alpha1.ReasonCABundleBehind)
		if hash := in.get("alpha").Status.CABundleHash; hash != hashOf(oldCA) {
			t.Errorf("hash = %q", hash)
		}
	})
	proxy.Hook(nil)
	in.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled)
	in.awaitAcknowledged("alpha", newCA)
}

func TestAMemberThatIsNotManagedIsOnlyLookedAt(t *testing.T) {
	servers := clustersForTest(t)
	ca := servers.alpha.Config.CAData
	fake := &fakeAdmission{ca: ca, limit: 3}
	proxy := newProxy(t, servers.alpha)
	in := installed(t, servers.hub, "looked-at", withAdmission(fake))
	member := directClient(t, servers.alpha.Config)
	// The objects were installed outside this installation before, in this test by the operator itself.
	in.join("alpha", viaProxy(t, proxy))
	in.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled)
	in.edit("alpha", func(mc *v1alpha1.MemberCluster) { mc.Spec.Manage = v1alpha1.ManageNone })
	in.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonAdmissionNotManaged)
	in.awaitAcknowledged("alpha", ca)

	proxy.Reset()
	binding := admissionObject(t, member, "ValidatingAdmissionPolicyBinding")
	if err := member.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	_, condition := in.awaitAdmission("alpha", metav1.ConditionFalse, v1alpha1.ReasonAdmissionNotManaged)
	if !strings.HasPrefix(condition.Message, "ValidatingAdmissionPolicyBinding vmgroup-operator ") ||
		!strings.Contains(condition.Message, "manager render --member alpha") {
		t.Errorf("message = %q", condition.Message)
	}
	in.leave("alpha")
	if event := in.awaitEvent("alpha", "LeftBehind"); !strings.Contains(event.Note, "ValidatingAdmissionPolicy vmgroup-operator") ||
		!strings.Contains(event.Note, "manager render --leave --member alpha") {
		t.Errorf("event = %q", event.Note)
	}
	for _, record := range proxy.Records() {
		if record.Group == "admissionregistration.k8s.io" || record.Resource == "vmgrouplimits" {
			t.Errorf("the operator wrote: %s %s", record.Verb, record.Resource)
		}
	}
	in.join("alpha", nil) // and remove it all
	in.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled)
}

func TestAReplicaThatDoesNotLeadLeavesAdmissionAlone(t *testing.T) {
	servers := clustersForTest(t)
	proxy := newProxy(t, servers.alpha)
	fake := &fakeAdmission{ca: servers.alpha.Config.CAData, limit: 3}
	r := newReplicaWith(t, servers.hub, "quiet", "only", true, withAdmission(fake))
	member := directClient(t, servers.alpha.Config)
	r.join("alpha", viaProxy(t, proxy))
	r.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled)

	r.resign("alpha")
	looks := atomic.Int32{}
	proxy.Hook(func(call localcluster.APICall) faultproxy.Fault {
		if call.Group == "admissionregistration.k8s.io" {
			looks.Add(1)
		}
		return faultproxy.Fault{}
	})
	await.NoError(t, "the end of the round that began while it led", func() error {
		looks.Store(0)
		r.awaitChecks("alpha", 3) // in which a leader would check several times
		if n := looks.Load(); n > 0 {
			return fmt.Errorf("%d requests", n)
		}
		return nil
	})
	r.hub.Reset()
	proxy.Reset()
	if err := member.Delete(t.Context(), admissionObject(t, member, "ValidatingAdmissionPolicyBinding")); err != nil {
		t.Fatal(err)
	}
	fake.change(func(f *fakeAdmission) { f.ca = servers.beta.Config.CAData })
	r.awaitChecks("alpha", 5)
	r.wrote(proxy, false)
	if n := looks.Load(); n > 0 {
		t.Errorf("%d requests for admission objects", n)
	}
	// An acknowledgement from its last term can be outdated. As the leader it reports none until it has checked.
	if seen := r.provider.Observe("alpha"); seen.Acknowledged != nil || seen.Admission != nil {
		t.Errorf("seen: %+v", seen)
	}
	r.lead(true)
	r.awaitAcknowledged("alpha", servers.beta.Config.CAData)
	awaitObject(t, member, "ValidatingAdmissionPolicyBinding", func(object *unstructured.Unstructured) bool { return object != nil })
}

func TestTheMemberLocalGetsItsAdmissionObjects(t *testing.T) {
	servers := clustersForTest(t)
	fake := &fakeAdmission{ca: servers.alpha.Config.CAData, limit: 3}
	in := installed(t, servers.hub, "home", func(o *testOptions) {
		withAdmission(fake)(o)
		o.Local = true
	})
	hub := directClient(t, servers.hub.Config)
	in.join(v1alpha1.LocalMember, nil)
	in.awaitAdmission(v1alpha1.LocalMember, metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled)
	awaitLimit(t, hub, 3)
	in.leave(v1alpha1.LocalMember)
	for _, kind := range fakeKinds {
		if admissionObject(t, hub, kind) != nil {
			t.Errorf("%s is still there", kind)
		}
	}
}

func TestNewKindsAreNotMutatedBeforeAPIServersKnowTheirSchema(t *testing.T) {
	servers := clustersForTest(t)
	fake := &fakeAdmission{limit: 3}
	in := installed(t, servers.hub, "young", func(o *testOptions) {
		withAdmission(fake)(o)
		o.Timings.SchemaLag = time.Hour
	})
	in.join("alpha", servers.alpha.Kubeconfig())
	in.awaitAdmission("alpha", metav1.ConditionFalse, v1alpha1.ReasonDefaultsPending)
	if target := fake.lastTarget(); target.ServesMutatingPolicies {
		t.Errorf("target = %+v, want no mutating policies before a CRD that is minutes old", target)
	}
}
