package vmgroup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admitted/admittedtest"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup/effect"
	"github.com/codeconnect/vmgroup-operator/internal/fairqueue"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/groupmetrics"
	"github.com/codeconnect/vmgroup-operator/internal/observe"
	"github.com/codeconnect/vmgroup-operator/internal/receipts/receiptstest"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

// blindPatience is how long a group can be unobservable before it reports that.
const blindPatience = 5 * time.Second

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// rig is a reconciler over a fake vCenter and one member.
type rig struct {
	*Reconciler
	t       testing.TB
	vcenter *fake.Server
	member  client.Client
	hub     client.Client
	// onStatus is called instead of a status write when set.
	onStatus func() error
	gate     *testGate
	// registry gathers the counts of passes.
	registry *prometheus.Registry
	records  *admittedtest.Memory
	now      time.Time
	request  mcreconcile.Request
}

// testGate gives tokens of one epoch, whose check can fail, unless another replica holds everything.
type testGate struct {
	epoch   sharding.Epoch
	err     error
	another bool
	raised  []sharding.Epoch
}

type testToken struct {
	gate *testGate
	ctx  context.Context
}

func (g *testGate) Enter(ctx context.Context, _ sharding.Key) (sharding.Token, bool) {
	return testToken{g, ctx}, !g.another
}
func (g *testGate) Holds(sharding.Key) bool  { return !g.another }
func (g *testGate) Bucket(sharding.Key) int  { return 0 }
func (g *testGate) Raise(e sharding.Epoch)   { g.raised = append(g.raised, e) }
func (t testToken) Context() context.Context { return t.ctx }
func (t testToken) Epoch() sharding.Epoch    { return t.gate.epoch }
func (t testToken) Check() error             { return t.gate.err }
func (t testToken) Exit()                    {}

// silent is a cache whose informers report nothing.
type silent struct{ informertest.FakeInformers }

func (*silent) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return controllertest.NewFakeInformer(controllertest.Synced), nil
}

// testCluster is a member: a client and a recorder of events.
type testCluster struct {
	cluster.Cluster
	client client.Client
	// live is the API server; the same as client if not set.
	live client.Reader
	// recorder receives events; one without a reader if not set.
	recorder *events.FakeRecorder
}

func (c testCluster) GetClient() client.Client { return c.client }
func (c testCluster) GetCache() cache.Cache    { return &silent{} }
func (c testCluster) GetAPIReader() client.Reader {
	if c.live != nil {
		return c.live
	}
	return c.client
}
func (c testCluster) GetEventRecorder(string) events.EventRecorder {
	return cmp.Or(c.recorder, events.NewFakeRecorder(100))
}

func (c testCluster) GetCluster(context.Context, multicluster.ClusterName) (cluster.Cluster, error) {
	return c, nil
}

// clockFunc is a clock of the fleet.
type clockFunc func() time.Time

func (c clockFunc) Now() time.Time { return c() }

// sinkFunc is a subscriber of groups.
type sinkFunc func(fleet.Ref)

func (s sinkFunc) Deliver(of fleet.Ref, _ fleet.Reason) { s(of) }

// delivered handles deliveries of the fleet, as the workers of the manager do.
func (r *rig) delivered() {
	for r.departures.queue.Len() > 0 {
		r.departures.next(r.t.Context())
	}
	for r.twins.queue.Len() > 0 {
		r.twins.next(r.t.Context())
	}
}

// newFleet has one member, which is engaged.
func newFleet(now func() time.Time) *fleet.Fleet {
	f := fleet.New(clockFunc(now), massdeletion.DefaultRules(), &testGate{})
	f.SetMember(localMember())
	return f
}

func localMember() fleet.Member {
	return fleet.Member{Name: v1alpha1.LocalMember, UID: "member-uid", State: fleet.Engaged}
}

// memberIs changes the state of the member, which is otherwise engaged and has default values.
func (r *rig) memberIs(change func(*fleet.Member)) {
	m := localMember()
	change(&m)
	r.Fleet.SetMember(m)
}

// observing reads these sources, records of the admitted specs, and no receipts.
func observing(s *observe.Sources, records observe.Records) *observe.Observer {
	return &observe.Observer{Sources: s, Admitted: records, KnownReceipts: receiptsFrom{}}
}

// like is an observer with the same sources, and its own fleet, as in another process.
func (r *rig) like() *observe.Observer {
	return observing(&observe.Sources{
		Clusters: r.Clusters, Hub: r.hub, Servers: r.Servers, Fleet: newFleet(r.Now), Installation: r.Installation, Now: r.Now,
	}, r.records)
}

func newRig(t testing.TB) *rig {
	t.Helper()
	scheme := allkinds.Scheme()
	r := &rig{t: t, now: noon, gate: &testGate{}, records: &admittedtest.Memory{}}
	r.registry = prometheus.NewRegistry()
	counts, err := groupmetrics.New(r.registry)
	if err != nil {
		t.Fatal(err)
	}
	r.vcenter = fake.New(fake.Options{Now: func() time.Time { return r.now }})
	r.vcenter.AddTemplate(vsphere.Template{Name: "debian-12"})
	group := &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "6d1b1c5e-0000-4000-8000-000000000001", Generation: 1, CreationTimestamp: metav1.NewTime(noon)},
		Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "debian-12", Replicas: new(int32)},
	}
	*group.Spec.Replicas = 2
	r.member = clientfake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(group).
		WithObjects(group, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
				if r.onStatus != nil {
					if err := r.onStatus(); err != nil {
						return err
					}
				}
				return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
			},
		}).Build()
	r.hub = clientfake.NewClientBuilder().WithScheme(scheme).
		WithObjects(
			&v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
			&v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LocalMember}},
		).Build()
	clock := func() time.Time { return r.now }
	r.Reconciler = &Reconciler{
		Observer: observing(&observe.Sources{
			Clusters: testCluster{client: r.member}, Hub: r.hub, Servers: fake.Servers{"default": r.vcenter}, Fleet: newFleet(clock), Installation: "installation", Now: clock,
		}, r.records),
		Shards: r.gate, Records: r.records, Receipts: receiptstest.New(), HubWrites: writebudget.New(writebudget.Default, clock),
		Metrics: counts, vanished: newVanished(),
	}
	queued(t, r.Reconciler)
	r.serve()
	r.equipped()
	r.request = mcreconcile.Request{
		ClusterName: v1alpha1.LocalMember, Request: reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: "web"}},
	}
	return r
}

// queued gives a Reconciler a queue with four places.
func queued(t testing.TB, r *Reconciler) {
	r.queue = testQueue(r)
	t.Cleanup(r.queue.ShutDown)
}

func testQueue(r *Reconciler) *fairqueue.Queue[mcreconcile.Request] {
	return newQueue("", 4, flow{r}, func() float64 { return 0 })
}

// equipped creates the effects again after a change of a field of the Reconciler.
func (r *rig) equipped() {
	r.t.Helper()
	if err := r.equip(); err != nil {
		r.t.Fatal(err)
	}
}

// key of the group.
func (r *rig) object() object { return objectOf("member-uid", r.group()) }

func (r *rig) key() vsphere.GroupKey { return keyOf("member-uid", r.group()) }

func (r *rig) pass() (reconcile.Result, error) {
	r.delivered()
	return r.Reconcile(r.t.Context(), r.request)
}

func (r *rig) mustPass() reconcile.Result {
	r.t.Helper()
	result, err := r.pass()
	if err != nil {
		r.t.Fatal(err)
	}
	return result
}

// count is the value of the counter that has these labels.
func (r *rig) count(metric string, labels map[string]string) float64 {
	r.t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != metric {
			continue
		}
		for _, m := range family.GetMetric() {
			values := map[string]string{}
			for _, pair := range m.GetLabel() {
				values[pair.GetName()] = pair.GetValue()
			}
			if maps.Equal(values, labels) {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// settle runs passes and lets vCenter's tasks finish until the group is ready.
func (r *rig) settle() *v1alpha1.VmGroup {
	r.t.Helper()
	for range 20 {
		r.mustPass()
		r.vcenter.Finish(-1)
		r.now = r.now.Add(2 * time.Second)
		if g := r.group(); meta.IsStatusConditionTrue(g.Status.Conditions, v1alpha1.ConditionReady) {
			return g
		}
	}
	r.t.Fatalf("not ready after 20 passes: %s", words(r.group().Status.Conditions))
	return nil
}

func words(conditions []metav1.Condition) (all string) {
	for _, c := range conditions {
		all += c.Type + "=" + string(c.Status) + "/" + c.Reason + ": " + c.Message + "; "
	}
	return all
}

func (r *rig) group() *v1alpha1.VmGroup {
	r.t.Helper()
	g := &v1alpha1.VmGroup{}
	if err := r.member.Get(r.t.Context(), r.request.NamespacedName, g); err != nil {
		r.t.Fatal(err)
	}
	return g
}

func TestAGroupBecomesReadyAndThenNothingIsWritten(t *testing.T) {
	r := newRig(t)
	g := r.settle()
	if g.Status.Phase != v1alpha1.PhaseRunning || g.Status.ReadyReplicas != 2 || g.Status.LastMessage != "successfully reconciled VmGroup" {
		t.Errorf("phase %s, %d ready, message %q", g.Status.Phase, g.Status.ReadyReplicas, g.Status.LastMessage)
	}
	r.vcenter.ClearJournal()
	for range 3 {
		r.now = r.now.Add(time.Hour)
		if result := r.mustPass(); result.RequeueAfter != 0 {
			t.Errorf("an unchanged group is enqueued again in %s", result.RequeueAfter)
		}
	}
	if after := r.group(); after.ResourceVersion != g.ResourceVersion || len(r.vcenter.Journal()) != 0 {
		t.Errorf("an unchanged group was written (%s, was %s) or acted on: %v", after.ResourceVersion, g.ResourceVersion, r.vcenter.Journal())
	}
}

// Later passes use the readiness of a VM in status.
func TestAGroupIsReadyOnceItsVMsHaveBeenForLongEnough(t *testing.T) {
	r := newRig(t)
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Readiness = &v1alpha1.Readiness{MinReadySeconds: 10} })
	g := r.settle()
	for _, vm := range g.Status.VMs {
		if vm.ReadySince == nil || r.now.Sub(vm.ReadySince.Time) < 10*time.Second {
			t.Errorf("%s counts although it is ready since %v, and it is %v", vm.Name, vm.ReadySince, r.now)
		}
	}
}

func TestAVMThatWasPoweredOffFromOutsideIsLeftOffWhereRepairObserves(t *testing.T) {
	r := newRig(t)
	r.settle()
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Repair = &v1alpha1.Repair{Mode: v1alpha1.RepairObserve} })
	r.vcenter.ByHand().PowerOff("web-1")
	r.vcenter.ClearJournal()
	r.mustPass()
	ready := meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionReady)
	if calls := r.vcenter.Journal(); len(calls) > 0 || ready.Reason != v1alpha1.ReasonRepairHeld {
		t.Errorf("vCenter was asked %v, and the group says %s: %s", calls, ready.Reason, ready.Message)
	}
}

// The time of a request to a guest is stored before the request, so that a successor has the remaining time.
func TestAGuestThatIgnoresItsShutdownHoldsItsVMForTheTimeThatSpecSays(t *testing.T) {
	r := newRig(t)
	r.settle()
	r.edit(func(s *v1alpha1.VmGroupSpec) {
		s.Replicas, s.Shutdown = new(int32(1)), &v1alpha1.Shutdown{TimeoutSeconds: 60}
	})
	r.mustPass()
	r.vcenter.Finish(-1) // it is marked
	r.onStatus = func() error {
		if calls := r.vcenter.Calls(vsphere.OpShutdownGuest); len(calls) != 0 {
			t.Errorf("the guest was asked before that was stored: %v", calls)
		}
		return nil
	}
	r.vcenter.ClearJournal()
	r.mustPass()
	asked := r.group().Status.VMs[1].ShutdownTime
	if calls := r.vcenter.Calls(vsphere.OpShutdownGuest); len(calls) != 1 || asked == nil || !asked.Time.Equal(r.now) {
		t.Fatalf("asked: %v; recorded: %v, now is %v", calls, asked, r.now)
	}
	r.onStatus = nil
	r.now = r.now.Add(59 * time.Second)
	if result := r.mustPass(); result.RequeueAfter <= 0 || result.RequeueAfter > time.Second {
		t.Errorf("the pass comes back after %s", result.RequeueAfter)
	}
	if calls := r.vcenter.Journal(); len(calls) != 1 {
		t.Errorf("calls before the guest's timeout ended: %v", calls)
	}
	r.now = r.now.Add(time.Second)
	r.mustPass()
	if calls := r.vcenter.Calls(vsphere.OpPowerOff); len(calls) != 1 {
		t.Errorf("after its time: %v", r.vcenter.Journal())
	}
	r.vcenter.Finish(-1)
	r.settle()
	if left := r.vcenter.VMs(); len(left) != 1 {
		t.Errorf("left are %v", left)
	}
}

func TestTheQueueIsNotTheOneThatCanHangWhenItIsShutDown(t *testing.T) {
	if use := controllerOptions(Options{Workers: 1}, newRig(t).queue).UsePriorityQueue; use == nil || *use {
		t.Error("the priority queue of controller-runtime v0.24 is on: see controllerOptions")
	}
}

func TestIntentIsStoredBeforeTheCloneIsSent(t *testing.T) {
	r := newRig(t)
	r.onStatus = func() error {
		if calls := r.vcenter.Calls(vsphere.OpClone); len(calls) != 0 {
			t.Errorf("clones were sent before their intent was stored: %v", calls)
		}
		return nil
	}
	r.mustPass()
	g := r.group()
	if len(r.vcenter.Calls(vsphere.OpClone)) != 2 || len(g.Status.VMs) != 2 || g.Status.VMs[0].UUID == "" || g.Status.Folder == nil {
		t.Errorf("clones %v; recorded %+v in %v", r.vcenter.Calls(vsphere.OpClone), g.Status.VMs, g.Status.Folder)
	}
}

// TestAFolderIsNeverShared: a joined name would be the same for a-b/c and a/b-c, and for a group and its namesake.
func TestAFolderIsNeverShared(t *testing.T) {
	r := newRig(t)
	r.mustPass()
	g := r.group()
	want := v1alpha1.LocalMember + "/" + g.Namespace + "/" + g.Name + "." + string(g.UID)[:min(8, len(g.UID))]
	if got := g.Status.Folder.Path; !strings.HasSuffix(got, want) {
		t.Errorf("the folder is %s, want it to end with %s", got, want)
	}
}

func TestAFailedStatusWriteSendsNothingToVCenter(t *testing.T) {
	for story, refusal := range map[string]error{
		"conflict": apierrors.NewConflict(v1alpha1.Resource("vmgroups"), "web", errors.New("the object has been modified")),
		"outage":   errors.New("connection refused"),
	} {
		t.Run(story, func(t *testing.T) {
			r := newRig(t)
			r.onStatus = func() error { return refusal }
			_, err := r.pass()
			if conflict := apierrors.IsConflict(refusal); conflict != (err == nil) {
				t.Errorf("the pass returned %v", err)
			}
			if calls := r.vcenter.Calls(vsphere.OpClone); len(calls) != 0 {
				t.Errorf("vCenter was asked on the strength of a write that failed: %v", calls)
			}
		})
	}
}

func TestACacheOlderThanOurOwnWriteIsNotActedOn(t *testing.T) {
	r := newRig(t)
	g := r.group()
	r.memory.change(objectOf("member-uid", g), func(m *remembered) { m.resourceVersion = g.ResourceVersion + "0" })
	if result := r.mustPass(); result.RequeueAfter == 0 {
		t.Error("the pass does not come back")
	}
	if len(r.vcenter.Journal()) != 0 || len(r.group().Finalizers) != 0 {
		t.Errorf("an old object was acted on: %v, finalizers %v", r.vcenter.Journal(), r.group().Finalizers)
	}
}

func TestAnEpochAboveTheRingsRaisesTheRingAndTouchesNothing(t *testing.T) {
	r := newRig(t)
	r.gate.epoch = sharding.Epoch{Generation: 1, Number: 7}
	r.settle()
	if o := r.group().Status.Ownership; o == nil || o.Epoch != (v1alpha1.Epoch{Generation: 1, Number: 7}) {
		t.Fatalf("the epoch was not stamped: %v", o)
	}
	r.vcenter.ClearJournal()
	r.vcenter.ByHand().Delete("web-1")
	r.vcenter.ClearJournal()
	before := r.group().ResourceVersion
	r.gate.epoch.Number = 6
	if result := r.mustPass(); result.RequeueAfter == 0 {
		t.Error("the group is not enqueued again after the shard map was raised")
	}
	if len(r.vcenter.Journal()) != 0 || r.group().ResourceVersion != before {
		t.Errorf("an overtaken replica acted: %v", r.vcenter.Journal())
	}
	if want := []sharding.Epoch{{Generation: 1}}; !slices.Equal(r.gate.raised, want) {
		t.Errorf("raised the shard map to %v, want %v", r.gate.raised, want)
	}
}

func TestAnEpochThatSomebodyMadeUpHoldsThisGroupAndNobodyElse(t *testing.T) {
	r := newRig(t)
	r.gate.epoch = sharding.Epoch{Generation: 3, Number: 7}
	r.settle()
	r.vcenter.ByHand().Delete("web-1")
	r.vcenter.ClearJournal()
	forge := func(o *v1alpha1.Ownership) {
		t.Helper()
		g := r.group()
		g.Status.Ownership = o
		if err := r.member.Status().Update(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	forge(&v1alpha1.Ownership{Epoch: v1alpha1.Epoch{Generation: 1<<40 - 1, Number: 1}})
	r.mustPass()
	r.mustPass()
	if len(r.gate.raised) > 0 || len(r.vcenter.Journal()) > 0 {
		t.Errorf("raised the shard map to %v, calls to vCenter are %v", r.gate.raised, r.vcenter.Journal())
	}
	stalled := meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Reason != v1alpha1.ReasonEpochAhead || !strings.Contains(stalled.Message, "1099511627775.1") ||
		!strings.Contains(stalled.Message, "kubectl edit vmgroup web -n team --subresource=status") {
		t.Errorf("condition Stalled is %+v", stalled)
	}
	forge(nil)
	r.settle()
	g := r.group()
	if g.Status.ReadyReplicas != 2 || g.Status.Ownership == nil || g.Status.Ownership.Epoch != (v1alpha1.Epoch{Generation: 3, Number: 7}) ||
		meta.IsStatusConditionTrue(g.Status.Conditions, v1alpha1.ConditionStalled) {
		t.Errorf("the way out that the message names leads to %+v", g.Status)
	}
}

// A restored shard map has a lower generation than the groups of a member record. One raise passes them all, except groups with a forged generation.
func TestARingThatIsBehindIsRaisedOnceForAllGroupsOfAMember(t *testing.T) {
	r := newRig(t)
	r.gate.epoch = sharding.Epoch{Generation: 1, Number: 7}
	r.settle()
	for name, generation := range map[string]int64{"older": 3, "newest": 9, "forged": 2 + protocol.MaxRaise} {
		other := r.group()
		other.ObjectMeta = metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(name)}
		if err := r.member.Create(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		other.Status.Ownership = &v1alpha1.Ownership{Epoch: v1alpha1.Epoch{Generation: generation, Number: 1}}
		if err := r.member.Status().Update(t.Context(), other); err != nil {
			t.Fatal(err)
		}
	}
	r.request.Name = "older"
	r.mustPass()
	r.request.Name = "newest"
	r.mustPass()
	if want := []sharding.Epoch{{Generation: 9}, {Generation: 9}}; !slices.Equal(r.gate.raised, want) {
		t.Errorf("raised the shard map to %v, want %v", r.gate.raised, want)
	}
	older := func(g *v1alpha1.VmGroup) {
		t.Helper()
		if err := r.member.Get(t.Context(), types.NamespacedName{Namespace: "team", Name: "older"}, g); err != nil {
			t.Fatal(err)
		}
	}
	g := &v1alpha1.VmGroup{}
	older(g)
	g.Status.Ownership.Epoch.Generation = 10
	if err := r.member.Status().Update(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	r.request.Name = "older"
	r.mustPass()
	if older(g); len(r.gate.raised) != 2 || !meta.IsStatusConditionTrue(g.Status.Conditions, v1alpha1.ConditionStalled) {
		t.Errorf("soon after, a higher epoch raised the shard map again: %v, %+v", r.gate.raised, g.Status.Conditions)
	}
	r.now = r.now.Add(time.Hour)
	if r.mustPass(); len(r.gate.raised) != 3 || r.gate.raised[2].Generation != 10 {
		t.Errorf("after an hour, raised the shard map to %v", r.gate.raised)
	}
}

// After a restore, an earlier target of a raise can be too far above the shard map, and would be ignored forever.
func TestARingThatWasRestoredAfterARaiseIsToldWhatTheGroupShows(t *testing.T) {
	r := newRig(t)
	r.gate.epoch = sharding.Epoch{Generation: 5, Number: 7}
	r.settle()
	r.memory.raise("member-uid", group.Raise{Above: 2 * protocol.MaxRaise, At: r.now})
	r.gate.epoch.Generation = 1
	r.mustPass()
	if want := []sharding.Epoch{{Generation: 5}}; !slices.Equal(r.gate.raised, want) {
		t.Errorf("raised the shard map to %v, want %v", r.gate.raised, want)
	}
}

func TestAGroupOfAnotherReplicaIsDroppedQuietly(t *testing.T) {
	r := newRig(t)
	r.gate.another = true
	before := r.group().ResourceVersion
	if result := r.mustPass(); result != (reconcile.Result{}) {
		t.Errorf("the pass comes back: %+v", result)
	}
	if len(r.vcenter.Journal()) != 0 || r.group().ResourceVersion != before {
		t.Errorf("another replica's group was acted on: %v", r.vcenter.Journal())
	}
}

func TestATakeoverAloneIsNotWorthAWrite(t *testing.T) {
	r := newRig(t)
	r.gate.epoch = sharding.Epoch{Generation: 1, Number: 1}
	before := r.settle().ResourceVersion
	r.gate.epoch.Number = 2
	r.mustPass()
	if after := r.group(); after.ResourceVersion != before {
		t.Errorf("the group was written: %+v", after.Status.Ownership)
	}
	r.vcenter.ByHand().Delete("web-1") // now there is something to do
	r.mustPass()
	if o := r.group().Status.Ownership; o.Epoch.Number != 2 {
		t.Errorf("the new epoch was not stamped before acting: %+v", o)
	}
}

func TestAClosedFenceLetsNoRequestOut(t *testing.T) {
	r := newRig(t)
	r.gate.err = errors.New("the shard was lost")
	r.mustPass()
	for _, entry := range r.vcenter.Journal() {
		if entry.Err == nil {
			t.Errorf("a request went out through a closed fence: %s", entry)
		}
	}
}

func TestAVCenterThatIsOutOfSightForAMomentIsNotWorthAWrite(t *testing.T) {
	r := newRig(t)
	before := r.settle()
	for range 3 {
		r.vcenter.Disconnect(&vsphere.Error{Kind: vsphere.KindTransient, Op: "connect", Err: errors.New("refused")})
		if wait := r.mustPass().RequeueAfter; wait != blindPatience {
			t.Errorf("the group is enqueued again in %s, want %s", wait, blindPatience)
		}
		r.now = r.now.Add(blindPatience - time.Millisecond)
		r.mustPass()
		r.vcenter.Reconnect()
		r.mustPass()
	}
	if after := r.group(); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the group was written: %s", words(after.Status.Conditions))
	}
}

func TestVCenterUnreachableChangesNothingAndSaysSo(t *testing.T) {
	r := newRig(t)
	before := r.settle().Status.VMs
	r.vcenter.Disconnect(&vsphere.Error{Kind: vsphere.KindTransient, Op: "connect", Err: errors.New("refused")})
	r.vcenter.ClearJournal()
	r.now = r.now.Add(r.mustPass().RequeueAfter)
	r.mustPass()
	g := r.group()
	ready := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionReady)
	if ready.Status != metav1.ConditionUnknown || ready.Reason != v1alpha1.ReasonVCenterUnreachable {
		t.Errorf("Ready is %s/%s", ready.Status, ready.Reason)
	}
	if !slices.EqualFunc(before, g.Status.VMs, func(a, b v1alpha1.VMStatus) bool { return a.MoRef == b.MoRef && a.Phase == b.Phase }) {
		t.Errorf("the table of VMs changed in an outage: %+v", g.Status.VMs)
	}
	if err := r.member.Delete(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	r.mustPass()
	if len(r.vcenter.Journal()) != 0 || len(r.group().Finalizers) == 0 {
		t.Errorf("something was deleted, or the finalizer removed, in an outage: %v", r.vcenter.Journal())
	}
	r.vcenter.Reconnect()
	r.rounds(12)
	if err := r.member.Get(t.Context(), r.request.NamespacedName, g); !apierrors.IsNotFound(err) {
		t.Errorf("the group is still there: %v, %s", err, words(g.Status.Conditions))
	}
	if vms := r.vcenter.VMs(); len(vms) != 0 {
		t.Errorf("survivors: %v", vms)
	}
}

func TestATemplateThatRefusesIsAskedOnceAndNotForEveryVM(t *testing.T) {
	r := newRig(t)
	g := r.group()
	*g.Spec.Replicas = 50
	if err := r.member.Update(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	r.vcenter.FailSubmit(vsphere.OpClone, 50, &vsphere.Error{Kind: vsphere.KindSpec, Err: errors.New("the disk is broken")})
	r.mustPass()
	if calls := r.vcenter.Calls(vsphere.OpClone); len(calls) != 1 {
		t.Errorf("%d clones were tried, want 1", len(calls))
	}
	r.now = r.now.Add(time.Second)
	r.mustPass()
	stalled := meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Reason != v1alpha1.ReasonOperationFailed {
		t.Errorf("conditions: %s", words(r.group().Status.Conditions))
	}
}

func TestAnIntentIsNeverHeldBack(t *testing.T) {
	r := newRig(t)
	g := r.settle()
	r.memory.change(objectOf("member-uid", g), func(m *remembered) { m.resourceVersion, m.reported = g.ResourceVersion, r.now }) // a report was written just now
	*g.Spec.Replicas = 3
	g.Generation++
	if err := r.member.Update(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	r.vcenter.ClearJournal()
	r.mustPass()
	if calls := r.vcenter.Calls(vsphere.OpClone); len(calls) != 1 || len(r.group().Status.VMs) != 3 {
		t.Errorf("clones %v while status records %+v", calls, r.group().Status.VMs)
	}
}

func TestAMissingUserDataSecretIsLookedForAgain(t *testing.T) {
	r := newRig(t)
	r.memberIs(func(m *fleet.Member) { m.UserDataSecrets = v1alpha1.UserDataAllow })
	g := r.group()
	g.Spec.UserDataSecretRef = &v1alpha1.LocalObjectReference{Name: "cloud-init"}
	if err := r.member.Update(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if result := r.mustPass(); result.RequeueAfter == 0 {
		t.Error("Secrets in members cause no events, but the group is not enqueued again")
	}
	if stalled := meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionStalled); stalled == nil || stalled.Reason != v1alpha1.ReasonUserDataNotFound {
		t.Errorf("conditions: %s", words(r.group().Status.Conditions))
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "cloud-init"}, Type: v1alpha1.UserDataType, Data: map[string][]byte{effect.UserDataKey: []byte("#cloud-config")}}
	if err := r.member.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	r.settle()
}

func TestAnEditThatNamesNoTemplateHasNotReachedTheVMs(t *testing.T) {
	r := newRig(t)
	g := r.settle()
	g.Spec.Template = "gone"
	g.Generation++
	if err := r.member.Update(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	r.mustPass()
	g = r.group()
	ready := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionReady)
	if g.Status.Phase != v1alpha1.PhasePending || !strings.Contains(ready.Message, `"gone"`) || !strings.HasPrefix(ready.Message, g.Status.LastMessage) {
		t.Errorf("phase %s, Ready %q, message %q; want PENDING and a word about the missing template", g.Status.Phase, ready.Message, g.Status.LastMessage)
	}
	if message := says(t, g, v1alpha1.ConditionUpToDate, "False", v1alpha1.ReasonRolloutPending); message != ready.Message {
		t.Errorf("UpToDate says %q, and Ready %q", message, ready.Message)
	}
}

func TestAStatusThatWasWipedDoesNotLetVMsBeForgotten(t *testing.T) {
	r := newRig(t)
	g := r.settle()
	g.Status = v1alpha1.VmGroupStatus{}
	if err := r.member.Status().Update(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if err := r.member.Delete(t.Context(), r.group()); err != nil {
		t.Fatal(err)
	}
	r.rounds(12)
	if vms := r.vcenter.VMs(); len(vms) != 0 {
		t.Errorf("the group was deleted, but its VMs still exist: %v", vms)
	}
	if err := r.member.Get(t.Context(), r.request.NamespacedName, g); !apierrors.IsNotFound(err) {
		t.Errorf("the group is still there: %s", words(r.group().Status.Conditions))
	}
}

func TestNothingIsDoneForAPausedGroupWhoseStatusWasWiped(t *testing.T) {
	r := newRig(t)
	g := r.settle()
	g.Status = v1alpha1.VmGroupStatus{}
	if err := r.member.Status().Update(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	g.Spec.Paused = true
	if err := r.member.Update(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	r.vcenter.ClearJournal()
	r.mustPass()
	if calls := r.vcenter.Journal(); len(calls) != 0 {
		t.Errorf("something was done for a group that is paused: %v", calls)
	}
	if g := r.group(); len(g.Status.VMs) != 2 || g.Status.Folder == nil || g.Status.Folder.Path == "" {
		t.Errorf("it is known from its VMs where the group is, and status says %+v", g.Status)
	}
	before := r.group().ResourceVersion
	r.now = r.now.Add(time.Hour)
	r.mustPass()
	if r.group().ResourceVersion != before {
		t.Error("the same is written again")
	}
	r.neverLetGo()
}

// neverLetGo deletes a group while its vCenter is unreachable, whose VMs are not in status.
func (r *rig) neverLetGo() {
	r.t.Helper()
	if foreign := meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionForeignVMs); foreign != nil {
		r.t.Errorf("it says of its own VMs: %s", foreign.Message)
	}
	if err := r.member.Delete(r.t.Context(), r.group()); err != nil {
		r.t.Fatal(err)
	}
	r.vcenter.Disconnect(&vsphere.Error{Kind: vsphere.KindTransient, Op: "connect", Err: errors.New("refused")})
	for range 3 {
		r.mustPass()
		r.now = r.now.Add(time.Minute)
	}
	if !slices.Contains(r.group().Finalizers, v1alpha1.VmGroupFinalizer) {
		r.t.Error("the finalizer was removed, but the VMs still exist")
	}
}

func TestAWipedStatusIsNotTakenForThatOfANewGroupWhileTheVCenterIsAway(t *testing.T) {
	r := newRig(t)
	g := r.settle()
	r.now = r.now.Add(time.Hour)
	g.Status = v1alpha1.VmGroupStatus{}
	if err := r.member.Status().Update(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	r.vcenter.Disconnect(&vsphere.Error{Kind: vsphere.KindTransient, Op: "connect", Err: errors.New("refused")})
	for range 2 {
		r.mustPass()
		r.now = r.now.Add(time.Minute)
	}
	says(t, r.group(), v1alpha1.ConditionReady, "Unknown", v1alpha1.ReasonVCenterUnreachable)
	r.neverLetGo()
}

// withoutFinalizers is an API server with a webhook that removes finalizers.
type withoutFinalizers struct{ client.Client }

func (w withoutFinalizers) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if err := w.Client.Patch(ctx, o, patch, opts...); err != nil {
		return err
	}
	o.SetFinalizers(nil)
	return w.Update(ctx, o)
}

func TestNothingIsClonedForAGroupThatDoesNotKeepItsFinalizer(t *testing.T) {
	r := newRig(t)
	r.Clusters = testCluster{client: withoutFinalizers{r.member}}
	for range 3 {
		if _, err := r.pass(); err == nil || !strings.Contains(err.Error(), "AddFinalizer") {
			t.Errorf("the pass ends with %v", err)
		}
	}
	if calls := r.vcenter.Journal(); len(calls) != 0 {
		t.Errorf("vCenter was asked for a group that can be removed at any time: %v", calls)
	}
}

func TestASilentMemberIsLeftAlone(t *testing.T) {
	r := newRig(t)
	r.memberIs(func(m *fleet.Member) { m.Silent = true })
	if result := r.mustPass(); result.RequeueAfter == 0 || len(r.vcenter.Journal()) != 0 || len(r.group().Finalizers) != 0 {
		t.Errorf("something was done for a member that does not answer: %v", r.vcenter.Journal())
	}
}

// TestVMsThatArePoweredOffOneAfterTheOtherAreCountedEach: the operator repairs each immediately, and writes status at most once a
// second.
func TestVMsThatArePoweredOffOneAfterTheOtherAreCountedEach(t *testing.T) {
	const vms = 12
	r := newRig(t)
	// Once a VM was powered off, the group is not ready for a while.
	r.edit(func(s *v1alpha1.VmGroupSpec) {
		*s.Replicas, s.Readiness = vms, &v1alpha1.Readiness{MinReadySeconds: 10}
	})
	r.settle()
	counts := func(want float64, when string) {
		t.Helper()
		if got := r.count("vmgroup_drift_total", map[string]string{"vcenter": "default", "kind": "powered_off"}); got != want {
			t.Errorf("%s it counts %g VMs, want %g", when, got, want)
		}
	}
	for i := range vms {
		r.vcenter.ByHand().PowerOff(fmt.Sprintf("web-%d", i))
		r.mustPass()
		r.now = r.now.Add(20 * time.Millisecond)
		counts(float64(i+1), fmt.Sprintf("after VM %d", i))
		r.mustPass() // which sees the same
		r.vcenter.Finish(-1)
		r.mustPass() // the VM runs again
		r.now = r.now.Add(20 * time.Millisecond)
	}
	r.settle()
	counts(vms, "after the repair")
	for range 2 { // the first is written at once, the second waits
		r.vcenter.ByHand().PowerOff("web-3")
		r.mustPass()
		r.vcenter.Finish(-1)
		r.mustPass()
	}
	counts(vms+2, "after one was powered off again, twice")
	r.settle()
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Repair = &v1alpha1.Repair{Mode: v1alpha1.RepairObserve} })
	for _, vm := range []string{"web-5", "web-6"} {
		r.vcenter.ByHand().PowerOff(vm)
		r.mustPass()
		r.mustPass()
	}
	counts(vms+4, "after two were powered off that stay")
	r.vcenter.Disconnect(&vsphere.Error{Kind: vsphere.KindTransient, Op: "connect", Err: errors.New("refused")})
	r.now = r.now.Add(r.mustPass().RequeueAfter)
	r.mustPass()
	r.vcenter.Reconnect()
	for range 2 {
		r.mustPass()
		r.now = r.now.Add(2 * time.Second)
	}
	counts(vms+4, "after an outage before it was written")
}
