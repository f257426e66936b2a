//go:build unix && !fast

package member

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/link"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// A replica that leaves a member takes a missing claim, so that it does not clean up after another installation. A
// controller that has not observed the deletion of its MemberCluster would thus leave an ownerless claim: no other hub
// could serve the member.
func TestAMemberThatWasLeftIsNotClaimedAgain(t *testing.T) {
	servers := clustersForTest(t)
	ctx, hub, member := t.Context(), directClient(t, servers.hub.Config), directClient(t, servers.alpha.Config)
	const namespace = "operator-again"
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "again-kubeconfig"},
		Data:       map[string][]byte{defaultKubeconfigKey: servers.alpha.Kubeconfig()},
	}
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "again"}}
	mc.Spec.KubeconfigSecretRef = &v1alpha1.KubeconfigReference{Name: secret.Name}
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, secret, mc} {
		if err := hub.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) { // by an earlier run
			t.Fatal(err)
		}
	}
	provider, err := link.NewProvider(settings.Options{Namespace: namespace, InstallationUID: "again", Fleet: newFleet(), Timings: testTimings()})
	if err != nil {
		t.Fatal(err)
	}
	lifetime, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- provider.Start(lifetime, nobody{}) }()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	cache := &lagging{Client: hub}
	r := New(cache, hub, events.NewFakeRecorder(100), provider)
	look := func() {
		t.Helper()
		if _, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: types.NamespacedName{Name: mc.Name}}); err != nil {
			t.Fatal(err)
		}
	}
	await.NoError(t, "pin of the member", func() error { // the connection's event wakes a controller
		look()
		if err := hub.Get(ctx, client.ObjectKeyFromObject(mc), mc); err != nil || mc.Spec.ClusterUID == "" {
			return errors.Join(errors.New("there is none"), err)
		}
		return nil
	})
	awaitClaim(t, member, true)
	if err := hub.Delete(ctx, mc); err != nil {
		t.Fatal(err)
	}
	behind := &v1alpha1.MemberCluster{}
	if err := hub.Get(ctx, client.ObjectKeyFromObject(mc), behind); err != nil {
		t.Fatal(err)
	}
	await.NoError(t, "removal of the member", func() error {
		look()
		if err := hub.Get(ctx, client.ObjectKeyFromObject(mc), &v1alpha1.MemberCluster{}); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("still there: %w", err)
		}
		return nil
	})

	cache.behind = behind
	look()
	if state := provider.Observe(mc.Name).State; state != "" && state != link.Left && state != link.Ended {
		t.Errorf("the member is left once more: the connection is %s", state)
	}
	cache.behind = nil
	look() // the event has arrived
	await.NoError(t, "end of the connection", func() error {
		if state := provider.Observe(mc.Name).State; state != "" && state != link.Left && state != link.Ended {
			return fmt.Errorf("it is %s", state)
		}
		return nil
	})
	awaitClaim(t, member, false)
}
