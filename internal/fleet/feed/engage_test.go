package feed

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

// silent is a cache whose informers report nothing.
type silent struct{ informertest.FakeInformers }

func (*silent) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return controllertest.NewFakeInformer(controllertest.Synced), nil
}

// testCluster is a member with this client.
type testCluster struct {
	cluster.Cluster
	client client.Client
}

func (c testCluster) GetClient() client.Client { return c.client }
func (c testCluster) GetCache() cache.Cache    { return &silent{} }

// unlisted is a client whose lists fail.
type unlisted struct {
	client.Client
	err error
}

func (u unlisted) List(context.Context, client.ObjectList, ...client.ListOption) error { return u.err }

// newFeed feeds a fleet with one member, which is engaged, and the receiver.
func newFeed(to Groups) *Feed {
	f := fleet.New(clock.RealClock{}, massdeletion.DefaultRules(), oneBucket{})
	f.SetMember(fleet.Member{Name: "m", UID: "m-uid", State: fleet.Engaged})
	return New(f, to)
}

func webOf(vcenter string) *v1alpha1.VmGroup {
	return &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "g"}, Spec: v1alpha1.VmGroupSpec{VCenter: vcenter},
	}
}

func TestAMemberWhoseGroupsCannotBeListedIsNotEngaged(t *testing.T) {
	f, why := newFeed(&receiver{}), errors.New("the cache was stopped")
	has := clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithObjects(webOf("")).Build()
	if err := f.Engage(t.Context(), "m", testCluster{client: unlisted{has, why}}); !errors.Is(err, why) {
		t.Errorf("Engage does not return the error of the failed list of groups: %v", err)
	}
	if f.fleet.Listed("m") {
		t.Error("its groups are said to be known")
	}
	if err := f.Engage(t.Context(), "away", testCluster{client: has}); err == nil {
		t.Error("a member that is not served is engaged")
	}
	if err := f.Engage(t.Context(), "m", testCluster{client: has}); err != nil {
		t.Fatal(err)
	}
	if g, known := f.fleet.Group("m-uid/g"); !f.fleet.Listed("m") || !known || g.VCenter != "default" {
		t.Errorf("listed: %v; the group is known: %v, as %+v", f.fleet.Listed("m"), known, g)
	}
}

// receiver keeps the delivered groups.
type receiver struct {
	seen    []string
	removed []fleet.Ref
}

func (r *receiver) Seen(ref fleet.Ref, key vsphere.GroupKey, _ *v1alpha1.VmGroup, left string) {
	r.seen = append(r.seen, ref.String()+" "+string(key)+" "+left)
}

func (r *receiver) Removed(_ context.Context, ref fleet.Ref, _ client.Object) {
	r.removed = append(r.removed, ref)
}

func TestTheFleetKnowsAGroupBeforeItsReceiverDoes(t *testing.T) {
	to := &receiver{}
	f := newFeed(to)
	handler := f.Groups("m", nil)
	handler.Create(t.Context(), event.CreateEvent{Object: webOf("a")}, nil)
	handler.Update(t.Context(), event.UpdateEvent{ObjectOld: webOf("a"), ObjectNew: webOf("a")}, nil)
	handler.Update(t.Context(), event.UpdateEvent{ObjectOld: webOf("a"), ObjectNew: webOf("b")}, nil)
	want := [3]string{"m/team/web m-uid/g ", "m/team/web m-uid/g ", "m/team/web m-uid/g a"}
	if len(to.seen) != 3 || [3]string(to.seen) != want {
		t.Errorf("the receiver got %q, want %q", to.seen, want)
	}
	if g, _ := f.fleet.Group("m-uid/g"); g.VCenter != "b" {
		t.Errorf("the fleet has %+v", g)
	}
	handler.Delete(t.Context(), event.DeleteEvent{Object: webOf("b")}, nil)
	if _, known := f.fleet.Group("m-uid/g"); len(to.removed) != 1 || to.removed[0] != (fleet.Ref{Member: "m", Namespace: "team", Name: "web"}) || !known {
		t.Errorf("removed are %v; the fleet has the group: %v, and its receiver decides about that", to.removed, known)
	}
	f.fleet.DeleteMember("m")
	to.seen = nil
	if handler.Create(t.Context(), event.CreateEvent{Object: webOf("a")}, nil); len(to.seen) != 0 {
		t.Errorf("of a member that is not engaged the receiver got %q", to.seen)
	}
}
