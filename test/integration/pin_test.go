//go:build unix

package integration

import (
	"context"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// TestAMembersSecretThatLeadsToAnotherClusterChangesNothing: a kubeconfig is put into the wrong Secret. Nothing is
// installed in its cluster, and the groups of the joined one are unchanged when the Secret is corrected.
func TestAMembersSecretThatLeadsToAnotherClusterChangesNothing(t *testing.T) {
	w := troubled.enter(t)
	sameManager(t, w)
	v := newVCenter(t, w, "repointed")
	p := newPlace(t, w, "team-b", "repointed")
	stranger, err := w.StartCluster(t.Context(), "stranger")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stranger.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		kubeconfig, err := p.cluster.MemberKubeconfig()
		if err == nil {
			err = w.Join(context.WithoutCancel(t.Context()), p.member, kubeconfig)
		}
		if err != nil {
			t.Error(err)
		}
	})
	p.apply(p.group("vg", 2, v.of))
	before := p.untilRunning("vg", 2)
	v.proxy.Reset()

	elsewhere, err := stranger.MemberKubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Join(t.Context(), p.member, elsewhere); err != nil {
		t.Fatal(err)
	}
	mine, theirs := uidOf(t, p.cluster), uidOf(t, stranger)
	untilMember(t, w, p.member, "False", v1alpha1.ReasonAnotherCluster, mine, theirs, `back into Secret "team-b-kubeconfig"`)
	p.patch("vg", `{"spec":{"replicas":3}}`) // no operator serves it
	othersAreServed(t, w, "team-a", "repointed-others")
	v.neitherMadeNorDestroyed("while the kubeconfig leads elsewhere")
	if g := p.get("vg"); !controllerutil.ContainsFinalizer(g, v1alpha1.VmGroupFinalizer) {
		t.Error("the group of the pinned cluster has lost its finalizer")
	}
	hasNothingOfOurs(t, stranger)

	// The remedy in the condition.
	joinAgain(t, w, p.member)
	untilMember(t, w, p.member, "True", v1alpha1.ReasonEngaged)
	after := p.untilRunning("vg", 3)
	for i, vm := range before.Status.VMs {
		if after.Status.VMs[i].MoRef != vm.MoRef {
			t.Errorf("%s is %s, was %s: it was replaced", vm.Name, after.Status.VMs[i].MoRef, vm.MoRef)
		}
	}
	untilVCenterHolds(t, w, "/DC0/vm/repointed", 3)
	if n := v.done("CloneVM_Task"); n != 1 {
		t.Errorf("%d clones, want the one that was asked for", n)
	}
	hasNothingOfOurs(t, stranger)
}

func uidOf(t *testing.T, c *stack.Cluster) string {
	t.Helper()
	namespace := &corev1.Namespace{}
	if err := c.Get(t.Context(), key("", "kube-system"), namespace); err != nil {
		t.Fatal(err)
	}
	return string(namespace.UID)
}

// hasNothingOfOurs checks that the operator has left nothing in a cluster: no CRD, no claim, no admission object.
func hasNothingOfOurs(t *testing.T, c *stack.Cluster) {
	t.Helper()
	if err := c.Get(t.Context(), key("kube-system", "vmgroup-operator-claim"), &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("the other cluster's claim: %v", err)
	}
	for _, list := range []client.ObjectList{
		&apiextensionsv1.CustomResourceDefinitionList{},
		&admissionregistrationv1.ValidatingAdmissionPolicyList{}, &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{},
		&admissionregistrationv1.ValidatingWebhookConfigurationList{}, &admissionregistrationv1.MutatingWebhookConfigurationList{},
	} {
		if err := c.List(t.Context(), list); err != nil {
			t.Error(err)
			continue
		}
		if n := meta.LenList(list); n > 0 {
			t.Errorf("the other cluster has %d objects in %T", n, list)
		}
	}
}
