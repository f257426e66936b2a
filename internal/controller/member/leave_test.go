//go:build unix && !fast

package member

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

const foreignFinalizer = "example.test/keep"

// heldGroup creates a VmGroup with finalizers; the end of the test removes them.
func heldGroup(t *testing.T, server *localcluster.ControlPlane, name string, finalizers ...string) *v1alpha1.VmGroup {
	t.Helper()
	newGroup(t, server, name)
	member := directClient(t, server.Config)
	group := setFinalizers(t, member, name, finalizers...)
	t.Cleanup(func() {
		err := member.Patch(context.Background(), group, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		if client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	return group
}

func setFinalizers(t *testing.T, member client.Client, name string, finalizers ...string) *v1alpha1.VmGroup {
	t.Helper()
	group := &v1alpha1.VmGroup{}
	if err := member.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: name}, group); err != nil {
		t.Error(err)
		return group
	}
	base := group.DeepCopy()
	group.Finalizers = finalizers
	if err := member.Patch(t.Context(), group, client.MergeFrom(base)); err != nil {
		t.Error(err)
	}
	return group
}

func TestAMemberThatIsLeftStaysUsable(t *testing.T) {
	servers := clustersForTest(t)
	proxy := newProxy(t, servers.alpha)
	fake := &fakeAdmission{ca: servers.alpha.Config.CAData, limit: 3}
	in := installed(t, servers.hub, "usable", withAdmission(fake))
	member := directClient(t, servers.alpha.Config)
	in.join("alpha", viaProxy(t, proxy))
	in.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled)
	heldGroup(t, servers.alpha, "stays", v1alpha1.VmGroupFinalizer)
	shared := heldGroup(t, servers.alpha, "shared", v1alpha1.VmGroupFinalizer, foreignFinalizer)
	heldGroup(t, servers.alpha, "stubborn", v1alpha1.VmGroupFinalizer)
	dying := heldGroup(t, servers.alpha, "dying", v1alpha1.VmGroupFinalizer)
	if err := member.Delete(t.Context(), dying); err != nil {
		t.Fatal(err)
	}
	// An outdated replica restores its finalizer, twice.
	again := atomic.Int32{}
	proxy.Hook(func(call localcluster.APICall) faultproxy.Fault {
		if call.Resource != "vmgroups" || call.Name != "stubborn" || call.Verb != "patch" || again.Add(1) > 2 {
			return faultproxy.Fault{}
		}
		return faultproxy.Fault{After: func() { setFinalizers(t, member, "stubborn", v1alpha1.VmGroupFinalizer) }}
	})
	proxy.Reset()
	in.leave("alpha")

	for _, kind := range fakeKinds {
		if admissionObject(t, member, kind) != nil {
			t.Errorf("%s is still there", kind)
		}
	}
	if err := member.Get(t.Context(), client.ObjectKeyFromObject(dying), dying); !apierrors.IsNotFound(err) {
		t.Errorf("the group that was being deleted: %v", err)
	}
	for _, name := range []string{"stays", "shared", "stubborn"} {
		group := &v1alpha1.VmGroup{}
		if err := member.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: name}, group); err != nil {
			t.Fatal(err)
		}
		if controllerutil.ContainsFinalizer(group, v1alpha1.VmGroupFinalizer) {
			t.Errorf("%s still has our finalizer", name)
		}
		if controllerutil.ContainsFinalizer(group, foreignFinalizer) != (name == shared.Name) {
			t.Errorf("finalizers of %s = %v", name, group.Finalizers)
		}
	}
	awaitClaim(t, member, false)
	if event := in.awaitEvent("alpha", "Left"); !strings.Contains(event.Note, "4 VmGroups") {
		t.Errorf("event = %q", event.Note)
	}
	leftInOrder(t, proxy)

	proxy.Hook(nil)
	in.join("alpha", nil)
	in.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled)
	awaitLimit(t, member, 3)
}

// leftInOrder checks the order: first the objects that call the hub, then the policies, then the finalizers, then the
// parameter, then the claim. Without the parameter, an API server that still has the binding refuses to change a
// group.
func leftInOrder(t *testing.T, proxy *localcluster.APIProxy) {
	t.Helper()
	var order []string
	for _, record := range proxy.Records() {
		if record.Verb == "delete" || record.Resource == "vmgroups" {
			if n := len(order); n == 0 || order[n-1] != record.Resource {
				order = append(order, record.Resource)
			}
		}
	}
	want := "validatingwebhookconfigurations mutatingadmissionpolicybindings mutatingadmissionpolicies " +
		"validatingadmissionpolicybindings validatingadmissionpolicies vmgroups vmgrouplimits configmaps"
	if got := strings.Join(order, " "); got != want {
		t.Errorf("order of removal:\n%s\nwant\n%s", got, want)
	}
}

func TestWhatCannotBeRemovedIsSaid(t *testing.T) {
	servers := clustersForTest(t)
	proxy := newProxy(t, servers.alpha)
	fake := &fakeAdmission{ca: servers.alpha.Config.CAData, limit: 3}
	in := installed(t, servers.hub, "refused", func(o *testOptions) {
		withAdmission(fake)(o)
		o.Timings.Leave = 15 * time.Second // enough for all objects that are not refused
	})
	member := directClient(t, servers.alpha.Config)
	in.join("alpha", viaProxy(t, proxy))
	in.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled)
	group := heldGroup(t, servers.alpha, "let-go-all-the-same", v1alpha1.VmGroupFinalizer)
	proxy.Hook(func(call localcluster.APICall) faultproxy.Fault {
		if call.Resource != "validatingadmissionpolicies" || call.Verb != "delete" {
			return faultproxy.Fault{}
		}
		return faultproxy.Fault{Act: faultproxy.Answer, Status: http.StatusForbidden, ContentType: "application/json", Body: []byte(
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"not by you"}`)}
	})
	in.leave("alpha")
	event := in.awaitEvent("alpha", "LeftBehind")
	if event.Type != corev1.EventTypeWarning || !strings.Contains(event.Note, "not by you") ||
		!strings.Contains(event.Note, "manager render --leave --member alpha") {
		t.Errorf("event = %q", event.Note)
	}
	if err := member.Get(t.Context(), client.ObjectKeyFromObject(group), group); err != nil || len(group.Finalizers) > 0 {
		t.Errorf("finalizers %v, %v", group.Finalizers, err)
	}
	awaitClaim(t, member, false)
	left := admissionObject(t, member, "ValidatingAdmissionPolicy")
	if left == nil || admissionObject(t, member, "ValidatingAdmissionPolicyBinding") != nil {
		t.Error("what could be removed is there, or the other way round")
	}
	if err := member.Delete(t.Context(), left); err != nil {
		t.Fatal(err)
	}
}

// A member of another hub stays unchanged: its objects are not ours.
func TestLeavingRemovesNothingOfAnotherHub(t *testing.T) {
	servers := clustersForTest(t)
	fake := &fakeAdmission{ca: servers.alpha.Config.CAData, limit: 3}
	owner := installed(t, servers.hub, "owner", withAdmission(fake))
	member := directClient(t, servers.alpha.Config)
	owner.join("alpha", servers.alpha.Kubeconfig())
	owner.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled)
	group := heldGroup(t, servers.alpha, "theirs", v1alpha1.VmGroupFinalizer)

	other := installed(t, servers.beta, "other", withAdmission(&fakeAdmission{limit: 9}))
	other.join("theirs", servers.alpha.Kubeconfig())
	other.awaitReady("theirs", metav1.ConditionFalse, v1alpha1.ReasonClaimedByAnotherHub)
	other.leave("theirs")
	for _, kind := range fakeKinds {
		if admissionObject(t, member, kind) == nil {
			t.Errorf("%s was removed", kind)
		}
	}
	if err := member.Get(t.Context(), client.ObjectKeyFromObject(group), group); err != nil || len(group.Finalizers) != 1 {
		t.Errorf("finalizers %v, %v", group.Finalizers, err)
	}
	awaitClaim(t, member, true)
}

// A MemberCluster that waits for the claim of a predecessor is removed: undoing a mistake must take nothing over.
func TestLeavingTakesNothingOverFromAPredecessor(t *testing.T) {
	servers := clustersForTest(t)
	owner := installed(t, servers.hub, "early", nil)
	member := directClient(t, servers.alpha.Config)
	owner.join("alpha", servers.alpha.Kubeconfig())
	owner.awaitEngaged("alpha")
	group := heldGroup(t, servers.alpha, "inherited", v1alpha1.VmGroupFinalizer)
	claim := &corev1.ConfigMap{}
	if err := member.Get(t.Context(), claimKey, claim); err != nil {
		t.Fatal(err)
	}
	claim.Data[install.ClaimRenewTimeKey] = time.Now().UTC().Format(time.RFC3339)
	if err := member.Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}

	var later atomic.Int64
	other := installed(t, servers.beta, "late", func(o *testOptions) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
		o.Timings.BackoffMin, o.Timings.BackoffMax, o.Timings.Recheck = time.Hour, time.Hour, time.Hour
	})
	other.join("theirs", servers.alpha.Kubeconfig(), func(mc *v1alpha1.MemberCluster) {
		mc.Annotations = map[string]string{v1alpha1.PredecessorAnnotation: "early"}
	})
	other.awaitReady("theirs", metav1.ConditionFalse, v1alpha1.ReasonClaimedByAnotherHub)
	later.Store(int64(install.ClaimLife + time.Minute))
	other.leave("theirs")
	if err := member.Get(t.Context(), client.ObjectKeyFromObject(group), group); err != nil || len(group.Finalizers) != 1 {
		t.Errorf("finalizers %v, %v", group.Finalizers, err)
	}
	if err := member.Get(t.Context(), claimKey, claim); err != nil || claim.Data[install.ClaimInstallationKey] != "early" {
		t.Errorf("the claim is %v, %v", claim.Data, err)
	}
}
