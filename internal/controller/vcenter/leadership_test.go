package vcenter

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/passes"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

// hubForTest is a hub that counts writes; replicas share it.
type hubForTest struct {
	client.WithWatch
	writes int
}

func newHub(t *testing.T, vc *v1alpha1.VCenter) *hubForTest {
	t.Helper()
	scheme := allkinds.Scheme()
	credentials := secret("username", "u", "password", "p", "VC_HOST", "vc.example.com")
	credentials.Namespace = "operator"
	hub := &hubForTest{}
	hub.WithWatch = interceptor.NewClient(
		clientfake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(vc).WithObjects(vc, credentials).Build(),
		interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				hub.writes++
				return c.Patch(ctx, o, p, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				hub.writes++
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		})
	return hub
}

func (h *hubForTest) vcenter(t *testing.T) *v1alpha1.VCenter {
	t.Helper()
	vc := &v1alpha1.VCenter{}
	if err := h.Get(t.Context(), types.NamespacedName{Name: "default"}, vc); err != nil {
		t.Fatal(err)
	}
	return vc
}

func (h *hubForTest) annotate(t *testing.T, value string) {
	t.Helper()
	vc := h.vcenter(t)
	base := vc.DeepCopy()
	vc.Annotations = map[string]string{v1alpha1.AcceptEmptyAnnotation: value}
	if err := h.Patch(t.Context(), vc, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
	h.writes = 0
}

// replicaForTest is one replica with its connection to the one vCenter.
type replicaForTest struct {
	*Reconciler
	t          *testing.T
	leads      atomic.Bool
	connection *connectionForTest
	diary      diary
	now        time.Time
	told       *events.FakeRecorder
}

func newReplica(t *testing.T, hub *hubForTest, leads bool) *replicaForTest {
	t.Helper()
	r := &replicaForTest{t: t, now: time.Unix(1000, 0), told: events.NewFakeRecorder(100)}
	r.leads.Store(leads)
	r.connection = &connectionForTest{name: "dialed", diary: &r.diary, release: make(chan struct{})}
	close(r.connection.release)
	r.Reconciler = &Reconciler{
		Client: hub, Pool: NewPool(), Groups: &groupsForTest{}, Namespace: "operator", Events: r.told, Leader: r,
		Now:  func() time.Time { return r.now },
		Dial: func(Config, vsphere.Notifier) Connection { r.diary.note("dialed"); return r.connection },
	}
	return r
}

func (r *replicaForTest) Leading() bool { return r.leads.Load() }

func (r *replicaForTest) pass() reconcile.Result {
	r.t.Helper()
	result, err := r.Reconcile(r.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "default"}})
	if err != nil {
		r.t.Fatal(err)
	}
	return result
}

func (r *replicaForTest) did(what string) int {
	n := 0
	for _, e := range r.diary.read() {
		if e == what {
			n++
		}
	}
	return n
}

var healthy = vsphere.Health{Reachable: true, Complete: true, InstanceUUID: "expected", Version: "8.0.3", VMs: 2}

func TestAReplicaThatDoesNotLeadConnectsAndWritesNothing(t *testing.T) {
	vc := vcenterForTest()
	vc.Status = v1alpha1.VCenterStatus{}
	hub := newHub(t, vc)
	leader, other := newReplica(t, hub, true), newReplica(t, hub, false)
	if result := other.pass(); result.RequeueAfter == 0 || other.did("dialed") > 0 {
		t.Errorf("without the finalizer: %+v, %v", result, other.diary.read())
	}
	leader.pass()
	hub.writes = 0
	other.pass()
	other.connection.becomes(healthy)
	if result := other.pass(); result.RequeueAfter == 0 {
		t.Error("the pass does not come back")
	}
	if _, ok := other.Pool.Server("default"); !ok {
		t.Error("a replica that does not lead does not serve")
	}
	if hub.writes != 0 || len(other.told.Events) > 0 {
		t.Errorf("%d writes and %d events by a replica that does not lead", hub.writes, len(other.told.Events))
	}

	// The leadership changes.
	leader.leads.Store(false)
	leader.connection.becomes(healthy)
	leader.pass()
	leader.pass()
	if hub.writes != 0 {
		t.Errorf("%d writes after the leadership was lost", hub.writes)
	}
	other.leads.Store(true)
	other.pass()
	if s := hub.vcenter(t).Status; s.VMs != 2 || !meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReady) || len(other.told.Events) == 0 {
		t.Errorf("the new leader wrote %+v and %d events", s, len(other.told.Events))
	}
}

func TestAVCenterThatIsDeletedIsLetGoByTheLeaderOnly(t *testing.T) {
	vc := vcenterForTest()
	vc.Finalizers, vc.Status.InstanceUUID = []string{v1alpha1.VCenterFinalizer}, "expected"
	hub := newHub(t, vc)
	r := newReplica(t, hub, false)
	r.pass()
	r.connection.becomes(healthy)
	r.pass()
	if err := hub.Delete(t.Context(), hub.vcenter(t)); err != nil {
		t.Fatal(err)
	}
	r.pass()
	if _, ok := r.Pool.Server("default"); !ok {
		t.Error("the connection ends while VMs are there")
	}
	r.connection.becomes(vsphere.Health{Reachable: true, Complete: true, InstanceUUID: "expected"})
	if result := r.pass(); result.RequeueAfter == 0 {
		t.Error("the leader may see VMs that this replica does not; it must look again")
	}
	if _, ok := r.Pool.Server("default"); ok {
		t.Error("the connection outlives its use")
	}
	if !controllerutil.ContainsFinalizer(hub.vcenter(t), v1alpha1.VCenterFinalizer) || hub.writes != 0 {
		t.Errorf("%d writes by a replica that does not lead", hub.writes)
	}
	vc = hub.vcenter(t)
	base := vc.DeepCopy()
	vc.Status.VMs = 0 // the leader's view
	if err := hub.Status().Patch(t.Context(), vc, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
	r.leads.Store(true)
	r.pass()
	if err := hub.Get(t.Context(), client.ObjectKeyFromObject(vc), vc); !apierrors.IsNotFound(err) {
		t.Errorf("the VCenter is still there: %v", err)
	}
	r.pass()
}

func TestEachReplicaAcceptsAnEmptyInventoryOnceAndTheLeaderRemovesTheAnnotation(t *testing.T) {
	vc := vcenterForTest()
	vc.Finalizers, vc.Status.InstanceUUID = []string{v1alpha1.VCenterFinalizer}, "expected"
	hub := newHub(t, vc)
	leader, other := newReplica(t, hub, true), newReplica(t, hub, false)
	empty := vsphere.Health{Reachable: true, SuddenlyEmpty: true, InstanceUUID: "expected"}
	for _, r := range []*replicaForTest{leader, other} {
		r.pass()
		r.connection.becomes(empty)
		r.pass()
	}
	hub.annotate(t, "another")
	leader.pass()
	if leader.did("accepted dialed") != 0 {
		t.Error("an annotation for another vCenter was accepted")
	}
	hub.annotate(t, "expected")
	if result := leader.pass(); result.RequeueAfter > acceptFor || leader.did("accepted dialed") != 1 {
		t.Errorf("the leader: %+v, %v", result, leader.diary.read())
	}
	leader.now = leader.now.Add(acceptFor - time.Second)
	other.now = other.now.Add(time.Hour) // its clock does not matter
	leader.pass()
	other.pass()
	other.now = other.now.Add(time.Hour)
	other.pass()
	if other.did("accepted dialed") != 1 {
		t.Errorf("the other replica: %v", other.diary.read())
	}
	if hub.vcenter(t).Annotations[v1alpha1.AcceptEmptyAnnotation] != "expected" {
		t.Error("the annotation went before every replica could see it")
	}
	// The connections still pause here: another accident. One annotation ends only one pause.
	if leader.did("accepted dialed") != 1 {
		t.Errorf("the leader accepted again: %v", leader.diary.read())
	}
	leader.now = leader.now.Add(time.Second)
	leader.pass()
	if _, still := hub.vcenter(t).Annotations[v1alpha1.AcceptEmptyAnnotation]; still {
		t.Error("the used annotation stays")
	}
	hub.annotate(t, "expected")
	leader.pass()
	if leader.did("accepted dialed") != 2 {
		t.Error("a new annotation was not accepted")
	}
}

func TestAnOldLeadersLateWriteDoesNotUndoTheNewOnes(t *testing.T) {
	vc := vcenterForTest()
	vc.Finalizers, vc.Status = []string{v1alpha1.VCenterFinalizer}, v1alpha1.VCenterStatus{}
	hub := newHub(t, vc)
	r := newReplica(t, hub, true)
	r.pass()
	old := hub.vcenter(t)
	base := old.DeepCopy()
	base.Status.VMs = 9
	if err := hub.Status().Patch(t.Context(), base, client.MergeFrom(old)); err != nil {
		t.Fatal(err)
	}
	if err := r.write(t.Context(), old, blockedStatus(old, look{}, v1alpha1.ReasonSecretNotFound, "late", r.now)); err != nil {
		t.Errorf("a conflict is no error: %v", err)
	}
	s := hub.vcenter(t).Status
	if ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady); s.VMs != 9 || ready == nil || ready.Message == "late" {
		t.Errorf("status %+v", s)
	}
}

func TestANewLeaderLooksAtEveryVCenter(t *testing.T) {
	hub := newHub(t, vcenterForTest())
	r := &Reconciler{Client: hub, Leader: new(shardingtest.Leader(true))}
	r.LeadershipChanged() // before the set-up there is no listener, and nothing blocks
	r.everyVCenter = passes.NewAll()
	r.LeadershipChanged()
	r.LeadershipChanged()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := r.everyVCenter.Of(hub, &v1alpha1.VCenterList{}).Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	if request, _ := queue.Get(); request.Name != vcenterForTest().Name {
		t.Errorf("enqueued is %v", request)
	}
}

func TestThePoolHandsTheSearchForLeftoversOn(t *testing.T) {
	r := newPoolRig(t)
	r.EndLeftovers() // nothing is connected
	r.want("a")
	r.dialed[0].becomes(works)
	r.want("a")
	r.want("b")
	r.EndLeftovers()
	for _, want := range []string{"leftovers a", "leftovers b"} {
		if !slices.Contains(r.diary.read(), want) {
			t.Errorf("no %q in %v", want, r.diary.read())
		}
	}
}
