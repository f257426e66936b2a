package join

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

// nothingShown: no connection has been answered.
type nothingShown struct{}

func (nothingShown) Shown(string, types.UID) string { return "" }

// hubWith returns the pins of a hub with those MemberClusters. If unreadable is set, reads of the register fail.
func hubWith(t *testing.T, unreadable *bool, all ...v1alpha1.MemberCluster) (*Pins, client.Client) {
	t.Helper()
	builder := fake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithStatusSubresource(&v1alpha1.MemberCluster{})
	for i := range all {
		builder = builder.WithObjects(&all[i])
	}
	hub := builder.WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*corev1.ConfigMap); ok && *unreadable {
				return errors.New("forbidden")
			}
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	return NewPins(hub, hub, "operator", nothingShown{}, events.NewFakeRecorder(100), time.Now), hub
}

func get(t *testing.T, hub client.Client, name string) *v1alpha1.MemberCluster {
	t.Helper()
	mc := &v1alpha1.MemberCluster{}
	if err := hub.Get(t.Context(), client.ObjectKey{Name: name}, mc); err != nil {
		t.Fatal(err)
	}
	return mc
}

// Two MemberClusters have one pin, as after a manifest with spec.clusterUID was copied while the hub's register was
// lost.
func TestTheOlderOfTwoWithOnePinKeepsIt(t *testing.T) {
	unreadable := true
	// The younger one comes first: the order of checks must not decide.
	p, hub := hubWith(t, &unreadable, mcOf("younger", 9, "uid", "uid"), mcOf("older", 5, "uid", "uid"))
	mc := get(t, hub, "older")
	if uid, refused, err := p.Pin(t.Context(), mc); uid != "uid" || refused != nil || err == nil {
		t.Errorf("while the hub's memory cannot be read: %q, %v, %v; want it served on, and tried again", uid, refused, err)
	}
	unreadable = false
	if uid, refused, err := p.Pin(t.Context(), get(t, hub, "younger")); uid != "" || reasonOf(refused) != v1alpha1.ReasonDuplicateMember || err != nil {
		t.Errorf("the younger: %q, %v, %v", uid, refused, err)
	}
	if uid, refused, err := p.Pin(t.Context(), mc); uid != "uid" || refused != nil || err != nil {
		t.Errorf("the older: %q, %v, %v", uid, refused, err)
	}
	book := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "operator", Name: registerName}}
	if err := hub.Get(t.Context(), client.ObjectKeyFromObject(book), book); err != nil || book.Data["uid"] != "older" {
		t.Errorf("the hub remembers %v (%v)", book.Data, err)
	}
}

func TestAnUnpinnedMemberWaitsWhileTheHubsMemoryCannotBeRead(t *testing.T) {
	unreadable := true
	p, hub := hubWith(t, &unreadable, mcOf("new", 9, "uid", "")) // restored from a backup, without status
	if uid, refused, err := p.Pin(t.Context(), get(t, hub, "new")); uid != "" || refused != nil || err == nil {
		t.Errorf("granted %q (%v, %v) without reading the hub's register", uid, refused, err)
	}
	unreadable = false
	if uid, refused, err := p.Pin(t.Context(), get(t, hub, "new")); uid != "uid" || refused != nil || err != nil {
		t.Errorf("afterwards: %q, %v, %v", uid, refused, err)
	}
}
