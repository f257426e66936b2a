package vcenter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	orphaned "github.com/codeconnect/vmgroup-operator/internal/group/orphans"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// groupsForTest are the groups of every vCenter.
type groupsForTest struct {
	count int
	// acted is the number of groups for which the operator acted.
	acted int
	// expect is the expected number, if known.
	expect  int
	unknown bool
}

func (g *groupsForTest) GroupChanged(vsphere.GroupKey) {}
func (g *groupsForTest) VCenterChanged(string)         {}
func (g *groupsForTest) CountVCenter(context.Context, string, []v1alpha1.Grant) int {
	return g.count
}

func (g *groupsForTest) CountActed(string) int { return g.acted }

func (g *groupsForTest) Expected(string, []string) (vsphere.Expectation, bool) {
	return vsphere.Expectation{VMs: g.expect}, !g.unknown
}

func (g *groupsForTest) Absent(vsphere.GroupKey) (absent, known bool)                     { return true, true }
func (g *groupsForTest) SetVCenter(string)                                                {}
func (g *groupsForTest) DeleteVCenter(string)                                             {}
func (g *groupsForTest) SetOrphans(string, []orphaned.Group, sets.Set[string], time.Time) {}

func (c *connectionForTest) Placement(vsphere.Placement) (vsphere.ResolvedPlacement, error) {
	return vsphere.ResolvedPlacement{}, nil
}

// The operator restarts while the deletion of a VCenter waits for its groups: they can be deleted only after it connects again.
func TestAVCenterWhoseDeletionWaitsIsConnectedToAfterARestart(t *testing.T) {
	scheme := allkinds.Scheme()
	now := metav1.Now()
	vc := vcenterForTest()
	vc.Finalizers, vc.DeletionTimestamp = []string{v1alpha1.VCenterFinalizer}, &now
	vc.Status.InstanceUUID, vc.Status.VMs = "expected", 2
	vc.Status.Server, vc.Status.Root = "vc.example.com", &v1alpha1.VCenterRoot{InstanceUUID: "expected", Folder: "vm-operator", MoRef: "group-v7"}
	recorder := events.NewFakeRecorder(10)
	credentials := secret("username", "u", "password", "p", "VC_HOST", "vc.example.com")
	credentials.Namespace = "operator"
	c := clientfake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(vc).WithObjects(vc, credentials).Build()
	groups := &groupsForTest{} // none is known right after a start
	var connection *connectionForTest
	r := &Reconciler{
		Client: c, Pool: NewPool(), Groups: groups, Namespace: "operator", Now: time.Now, Events: recorder,
		Dial: func(Config, vsphere.Notifier) Connection {
			connection = &connectionForTest{name: "dialed", diary: &diary{}, release: make(chan struct{})}
			return connection
		},
	}
	pass := func() {
		t.Helper()
		request := reconcile.Request{NamespacedName: types.NamespacedName{Name: vc.Name}}
		if _, err := r.Reconcile(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	pass()
	if connection == nil {
		t.Fatal("no connection to the vCenter, so its groups can never be deleted")
	}
	connection.becomes(vsphere.Health{Reachable: true, Complete: true, InstanceUUID: "expected", VMs: 2})
	groups.count = 1
	pass()
	if _, ok := r.Pool.Server(vc.Name); !ok {
		t.Error("the connection does not serve the groups that the deletion waits for")
	}
	if err := c.Get(context.Background(), types.NamespacedName{Name: vc.Name}, vc); err != nil {
		t.Fatal(err)
	}
	if ready := meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionReady); ready == nil || ready.Reason != v1alpha1.ReasonInUse {
		t.Errorf("conditions %v, want Ready with reason InUse", vc.Status.Conditions)
	}
	groups.count = 0
	connection.becomes(vsphere.Health{Reachable: true, Complete: true, InstanceUUID: "expected"})
	pass()
	if err := c.Get(context.Background(), types.NamespacedName{Name: vc.Name}, vc); !apierrors.IsNotFound(err) {
		t.Errorf("the VCenter is still there after its last VM: %v", err)
	}
	last := ""
	for len(recorder.Events) > 0 {
		last = <-recorder.Events
	}
	if !strings.Contains(last, "FolderStays") || !strings.Contains(last, "vm-operator (group-v7) stays in the vCenter https://vc.example.com") {
		t.Errorf("the last event is %q, want the root folder that stays", last)
	}
	close(connection.release)
}

// A tenant, or a GitOps loop, can create any number of groups that name a VCenter.
func TestAVCenterThatIsDeletedWaitsAMinuteForGroupsItNeverServed(t *testing.T) {
	vc, since := vcenterForTest(), metav1.Now()
	vc.Finalizers, vc.DeletionTimestamp = []string{v1alpha1.VCenterFinalizer}, &since
	vc.Status.VMs = 0
	credentials := secret("username", "u", "password", "p", "VC_HOST", "vc.example.com")
	credentials.Namespace = "operator"
	c := clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithStatusSubresource(vc).WithObjects(vc, credentials).Build()
	groups, now := &groupsForTest{count: 12, acted: 1}, time.Now().Add(time.Hour) // the clocks of the API server and the leader differ
	settled, settle := []string(nil), errors.New("the API server did not answer")
	connection := &connectionForTest{name: "dialed", diary: &diary{}, release: make(chan struct{})}
	defer close(connection.release)
	r := &Reconciler{
		Client: c, Pool: NewPool(), Groups: groups, Namespace: "operator", Now: func() time.Time { return now }, Events: events.NewFakeRecorder(10),
		Dial: func(Config, vsphere.Notifier) Connection { return connection },
		Receipts: settling(func(name string) error {
			settled = append(settled, name)
			return settle
		}),
	}
	pass := func(after time.Duration) (exists bool, err error) {
		t.Helper()
		now = now.Add(after)
		_, err = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: vc.Name}})
		return !apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(vc), &v1alpha1.VCenter{})), err
	}
	for _, after := range []time.Duration{0, deletionSeen, deletionSeen} {
		if exists, err := pass(after); !exists || err != nil {
			t.Fatalf("with a group that has VMs, it exists: %t, %v", exists, err)
		}
	}
	groups.acted = 0
	r.forget(vc.Name) // another replica leads
	if exists, err := pass(0); !exists || err != nil {
		t.Fatalf("while another replica can start a clone, it exists: %t, %v", exists, err)
	}
	if exists, err := pass(deletionSeen); !exists || !errors.Is(err, settle) {
		t.Fatalf("while its receipts cannot be removed, it exists: %t, %v", exists, err)
	}
	settle = nil
	if exists, err := pass(0); exists || err != nil {
		t.Errorf("it waits for groups that it never served: %v", err)
	}
	if !slices.Equal(settled, []string{vc.Name, vc.Name}) {
		t.Errorf("the receipts of %q are settled", settled)
	}
}

// settling settles receipts.
type settling func(vcenter string) error

func (settling) Keeps(vsphere.GroupKey) bool                      { return false }
func (s settling) Settle(_ context.Context, vcenter string) error { return s(vcenter) }

// TestAnOldCacheDoesNotRepeatWhatWasWritten: after an outage of the hub the cache can show the earlier state for half a minute,
// while vCenter's events trigger pass after pass.
func TestAnOldCacheDoesNotRepeatWhatWasWritten(t *testing.T) {
	scheme := allkinds.Scheme()
	vc := vcenterForTest()
	vc.Finalizers, vc.Status = []string{v1alpha1.VCenterFinalizer}, v1alpha1.VCenterStatus{}
	credentials := secret("username", "u", "password", "p", "VC_HOST", "vc.example.com")
	credentials.Namespace = "operator"
	var cached *v1alpha1.VCenter
	writes := 0
	c := interceptor.NewClient(
		clientfake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(vc).WithObjects(vc, credentials).Build(),
		interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if vc, ok := o.(*v1alpha1.VCenter); ok && cached != nil {
					cached.DeepCopyInto(vc)
					return nil
				}
				return c.Get(ctx, key, o, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				writes++
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		})
	told, now := events.NewFakeRecorder(100), time.Now()
	connection := &connectionForTest{name: "dialed", diary: &diary{}, release: make(chan struct{})}
	defer close(connection.release)
	r := &Reconciler{
		Client: c, Pool: NewPool(), Groups: &groupsForTest{}, Namespace: "operator", Now: func() time.Time { return now }, Events: told,
		Dial: func(Config, vsphere.Notifier) Connection { return connection },
	}
	request := reconcile.Request{NamespacedName: types.NamespacedName{Name: vc.Name}}
	pass := func() {
		t.Helper()
		if result, err := r.Reconcile(t.Context(), request); err != nil || result.RequeueAfter == 0 {
			t.Fatalf("the pass does not come back: %+v, %v", result, err)
		}
	}
	pass()
	old := &v1alpha1.VCenter{}
	if err := c.Get(t.Context(), request.NamespacedName, old); err != nil {
		t.Fatal(err)
	}
	cached = old
	connection.becomes(vsphere.Health{Reachable: true, Complete: true, InstanceUUID: "expected", VMs: 2})
	writes = 0
	for range 5 {
		pass()
	}
	if writes != 1 {
		t.Errorf("%d writes of one change, seen from an old cache", writes)
	}
	cached = nil
	connection.becomes(vsphere.Health{Reachable: true, Complete: true, SuddenlyEmpty: true, InstanceUUID: "expected"})
	pass()
	if writes != 2 {
		t.Errorf("%d writes; want one more for what changed since", writes)
	}
	// The hub is restored from a backup, with a revision bump: its objects are older than our writes, and stay so.
	cached = old
	now = now.Add(catchesUp)
	if pass(); writes != 3 {
		t.Errorf("%d writes; a VCenter from a backup is never brought up to date", writes)
	}
}

// TestAVCenterThatIsMadeAnewIsServedByNoConnectionOfTheOneBefore: a deletion and a creation can be one change for a controller.
func TestAVCenterThatIsMadeAnewIsServedByNoConnectionOfTheOneBefore(t *testing.T) {
	vc := vcenterForTest()
	vc.UID, vc.Finalizers = "before", []string{v1alpha1.VCenterFinalizer}
	vc.Status.InstanceUUID, vc.Status.VMs = "expected", 2
	anew := vc.DeepCopy()
	anew.UID, anew.Status, anew.ResourceVersion = "anew", v1alpha1.VCenterStatus{}, ""
	credentials := secret("username", "u", "password", "p", "VC_HOST", "vc.example.com")
	credentials.Namespace = "operator"
	c := clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithStatusSubresource(vc).WithObjects(vc, credentials).Build()
	var dialed []*connectionForTest
	r := &Reconciler{
		Client: c, Pool: NewPool(), Groups: &groupsForTest{}, Namespace: "operator", Now: time.Now, Events: events.NewFakeRecorder(10),
		Dial: func(Config, vsphere.Notifier) Connection {
			c := &connectionForTest{name: fmt.Sprint("connection ", len(dialed)), diary: &diary{}, release: make(chan struct{})}
			dialed = append(dialed, c)
			return c
		},
	}
	pass := func() {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: vc.Name}}); err != nil {
			t.Fatal(err)
		}
	}
	pass()
	dialed[0].becomes(vsphere.Health{Reachable: true, Complete: true, InstanceUUID: "expected", VMs: 2})
	pass()
	if _, ok := r.Pool.Server(vc.Name); !ok {
		t.Fatal("the VCenter is not served")
	}
	before := &v1alpha1.VCenter{}
	before.Name = vc.Name
	if err := c.Patch(t.Context(), before, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), anew); err != nil {
		t.Fatal(err)
	}
	pass()
	if _, ok := r.Pool.Server(vc.Name); ok {
		t.Fatal("groups are served by a connection of the VCenter before")
	}
	if pass(); len(dialed) != 1 {
		t.Error("the next connection is dialed before the one before has ended: it may miss what that sent last")
	}
	close(dialed[0].release)
	await.NoError(t, "a connection of its own", func() error {
		if pass(); len(dialed) == 2 {
			return nil
		}
		return fmt.Errorf("%d were dialed", len(dialed))
	})
	close(dialed[1].release)
}

func TestAnEmptyRootAfterARestartIsReportedOnceTheGroupsAreKnown(t *testing.T) {
	vc := vcenterForTest()
	vc.Finalizers = []string{v1alpha1.VCenterFinalizer}
	vc.Status.InstanceUUID, vc.Status.VMs = "expected", 2
	credentials := secret("username", "u", "password", "p", "VC_HOST", "vc.example.com")
	credentials.Namespace = "operator"
	c := clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithStatusSubresource(vc).WithObjects(vc, credentials).Build()
	groups := &groupsForTest{unknown: true} // their members are being connected to
	connection := &connectionForTest{name: "dialed", diary: &diary{}, release: make(chan struct{})}
	connection.becomes(vsphere.Health{Reachable: true, SuddenlyEmpty: true, InstanceUUID: "expected"})
	defer close(connection.release)
	now := time.Now()
	r := &Reconciler{
		Client: c, Pool: NewPool(), Groups: groups, Namespace: "operator", Now: func() time.Time { return now }, Events: events.NewFakeRecorder(10),
		Dial: func(Config, vsphere.Notifier) Connection { return connection },
	}
	reported := func() bool {
		t.Helper()
		request := reconcile.Request{NamespacedName: types.NamespacedName{Name: vc.Name}}
		if result, err := r.Reconcile(t.Context(), request); err != nil || result.RequeueAfter == 0 {
			t.Fatalf("the pass comes back after %s, %v", result.RequeueAfter, err)
		}
		if err := c.Get(t.Context(), request.NamespacedName, vc); err != nil {
			t.Fatal(err)
		}
		complete := meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionInventoryComplete)
		return complete != nil && complete.Reason == v1alpha1.ReasonInventorySuddenlyEmpty
	}
	if reported() || len(connection.diary.read()) != 0 {
		t.Errorf("while the groups are unknown, the condition is reported, or explained by %v", connection.diary.read())
	}
	groups.unknown = false
	reported()
	if told := connection.diary.read(); len(told) != 1 || told[0] != "expects 0 of dialed" {
		t.Errorf("no group expects VMs, and the connection received %v", told)
	}
	// An unreachable member hides no accident.
	groups.unknown = true
	reported()
	if now = now.Add(doubtPatience); !reported() {
		t.Error("an empty root folder is not reported while a member cannot be reached")
	}
}
