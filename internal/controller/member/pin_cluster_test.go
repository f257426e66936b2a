//go:build unix && !fast

package member

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/crds"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// clusterUID is the UID that a server shows.
func (in *installation) clusterUID(server *localcluster.ControlPlane) (string, error) {
	namespace := &corev1.Namespace{}
	err := directClient(in.t, server.Config).Get(in.t.Context(), types.NamespacedName{Name: metav1.NamespaceSystem}, namespace)
	return string(namespace.UID), err
}

func TestAMemberClusterIsNotSwitchedOverToAnotherCluster(t *testing.T) {
	servers := clustersForTest(t)
	in := installed(t, servers.hub, "pin", func(o *testOptions) { o.Timings.Leave = o.Timings.Request / 15 })
	there, stranger := directClient(t, servers.alpha.Config), directClient(t, servers.beta.Config)
	removeCRD(t, stranger)
	in.join("pinned", servers.alpha.Kubeconfig())
	first := in.awaitEngaged("pinned")
	held := heldGroup(t, servers.alpha, "held", v1alpha1.VmGroupFinalizer)
	other, err := in.clusterUID(servers.beta)
	if err != nil {
		t.Fatal(err)
	}

	in.putKubeconfig("pinned", servers.beta.Kubeconfig())
	mc := in.awaitReady("pinned", metav1.ConditionFalse, v1alpha1.ReasonAnotherCluster)
	ready := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady)
	for _, needed := range []string{other, first.Spec.ClusterUID, `Secret "pinned-kubeconfig"`} {
		if !strings.Contains(ready.Message, needed) {
			t.Errorf("the message does not name %q: %s", needed, ready.Message)
		}
	}
	if mc.Spec.ClusterUID != first.Spec.ClusterUID || mc.Status.ClusterUID != first.Spec.ClusterUID {
		t.Errorf("the pin was %q, is %q in spec and %q in status", first.Spec.ClusterUID, mc.Spec.ClusterUID, mc.Status.ClusterUID)
	}
	untouched := func(after string) {
		t.Helper()
		awaitClaim(t, stranger, false)
		if definition, err := crds.Get(t.Context(), stranger, crd.VmGroupName); err != nil || definition != nil {
			t.Errorf("%s the other cluster has the CRD (%v)", after, err)
		}
		if err := there.Get(t.Context(), client.ObjectKeyFromObject(held), held); err != nil || len(held.Finalizers) == 0 {
			t.Errorf("%s the group of the pinned cluster has no finalizer (%v)", after, err)
		}
		awaitClaim(t, there, true)
	}
	if _, ok := in.opts.Fleet.Member("pinned"); ok {
		t.Error("another cluster is engaged")
	}
	untouched("after the Secret was changed,")
	in.putKubeconfig("pinned", servers.alpha.Kubeconfig())
	in.awaitEngaged("pinned")
	untouched("after the Secret was put right,")

	// The other solution: the other cluster is intended. The first one is left unchanged, for a user to
	// clean up.
	in.putKubeconfig("pinned", servers.beta.Kubeconfig())
	in.awaitReady("pinned", metav1.ConditionFalse, v1alpha1.ReasonAnotherCluster)
	in.leave("pinned")
	in.awaitEvent("pinned", "LeftBehind")
	untouched("after the MemberCluster was deleted,")
	in.join("pinned", nil)
	if mc := in.awaitEngaged("pinned"); mc.Spec.ClusterUID != other {
		t.Errorf("the new MemberCluster is pinned to %q, want %q", mc.Spec.ClusterUID, other)
	}
	in.leave("pinned")
	in.join("pinned", servers.alpha.Kubeconfig()) // so that the first one is left as well
	in.awaitEngaged("pinned")
}

func TestAPinIsKeptFromEverybody(t *testing.T) {
	servers := clustersForTest(t)
	in := installed(t, servers.hub, "kept", nil)
	in.join("kept", servers.alpha.Kubeconfig())
	pin := in.awaitEngaged("kept").Spec.ClusterUID

	for what, change := range map[string]func(*v1alpha1.MemberCluster){
		"changed": func(mc *v1alpha1.MemberCluster) { mc.Spec.ClusterUID = "another" },
		"removed": func(mc *v1alpha1.MemberCluster) { mc.Spec.ClusterUID = "" }, // as kubectl replace does with a manifest without it
	} {
		mc := in.get("kept")
		change(mc)
		err := in.hub.Update(t.Context(), mc)
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "Keep clusterUID: "+pin) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// A manifest without the pin, applied from a repository, does not change it.
	manifest := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "MemberCluster",
		"metadata": map[string]any{"name": "kept"},
		"spec":     map[string]any{"kubeconfigSecretRef": map[string]any{"name": "kept-kubeconfig"}},
	}}
	for range 2 {
		if err := in.hub.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(manifest.DeepCopy()),
			client.FieldOwner("gitops"), client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
	}
	if got := in.get("kept").Spec.ClusterUID; got != pin {
		t.Errorf("the pin is %q after a manifest was applied, was %q", got, pin)
	}
	// A hub that was restored without statuses identifies the cluster by the pin alone.
	mc := in.get("kept")
	mc.Status = v1alpha1.MemberClusterStatus{}
	if err := in.hub.Status().Update(t.Context(), mc); err != nil {
		t.Fatal(err)
	}
	if mc := in.awaitEngaged("kept"); mc.Status.ClusterUID != pin {
		t.Errorf("status.clusterUID = %q, want %q", mc.Status.ClusterUID, pin)
	}
}
