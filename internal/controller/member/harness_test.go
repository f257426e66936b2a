//go:build unix && !fast

package member

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mccontroller "sigs.k8s.io/multicluster-runtime/pkg/controller"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/link"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/renewal"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// patience is the timeout of all waits; a loaded machine with the race detector is slow. A watch that lost its API server
// recovers after up to a minute.
const patience = 2 * time.Minute

// testLogger prints only if the environment variable MEMBER_TEST_LOG is set. It counts lines that must never be logged.
func testLogger() logr.Logger {
	loud := os.Getenv("MEMBER_TEST_LOG") != ""
	return funcr.New(func(prefix, args string) {
		unexpected := strings.Contains(args, link.Unexpected)
		if unexpected {
			unexpectedStates.Add(1)
		}
		if loud || unexpected {
			fmt.Fprintln(os.Stderr, time.Now().Format("05.000"), prefix, args)
		}
	}, funcr.Options{})
}

// unexpectedStates counts transitions of connections that their table does not have. TestMain fails on them.
var unexpectedStates atomic.Int32

func directClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	result, err := client.New(config, client.Options{Scheme: allkinds.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// installation is one operator on one hub: a multicluster manager with the Provider, the MemberCluster controller and a
// controller over VmGroups that only records its calls.
type installation struct {
	t         *testing.T
	uid       string
	namespace string
	hub       client.Client
	provider  *link.Provider
	opts      testOptions
	stop      func()

	mu         sync.Mutex
	reconciled map[string]int // by "cluster/namespace/name"
	members    []string
	uids       map[string]types.UID // of the MemberClusters that were joined last
}

// testTimings check often, and give up late: a slow member must not look like an unreachable one.
func testTimings() settings.Timings {
	return settings.Timings{
		Dial: 30 * time.Second, Request: 30 * time.Second, BackoffMin: 50 * time.Millisecond, BackoffMax: 500 * time.Millisecond,
		HealthInterval: 200 * time.Millisecond, HealthTimeout: 30 * time.Second, Recheck: 300 * time.Millisecond,
		Leave: time.Minute, Settle: 100 * time.Millisecond, Counts: 500 * time.Millisecond,
	}
}

// installed starts an installation on a hub; it ends with the test, after its MemberClusters were removed.
func installed(t *testing.T, hub *localcluster.ControlPlane, uid string, change func(*testOptions)) *installation {
	t.Helper()
	return installVia(t, hub, hub.Config, uid, change)
}

// installVia is install with a configuration that connects the replica to the hub.
func installVia(t *testing.T, hub *localcluster.ControlPlane, config *rest.Config, uid string, change func(*testOptions)) *installation {
	t.Helper()
	in := &installation{
		t: t, uid: uid, namespace: "operator-" + strings.ToLower(uid), hub: directClient(t, hub.Config),
		reconciled: map[string]int{}, uids: map[string]types.UID{},
	}
	err := in.hub.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: in.namespace}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	for _, name := range renewal.Secrets() {
		if err := in.hub.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: in.namespace, Name: name}}); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	opts := testOptions{Options: settings.Options{
		Namespace: in.namespace, InstallationUID: uid, HubName: "hub of " + uid, HubConfig: hub.Config,
		Fleet: newFleet(), Timings: testTimings(), SkipNameValidation: true,
	}}
	if change != nil {
		change(&opts)
	}
	in.start(config, opts)
	t.Cleanup(func() {
		in.removeAll()
		in.stop()
	})
	return in
}

// start runs a manager; in.stop ends it and waits.
func (in *installation) start(config *rest.Config, opts testOptions) {
	in.t.Helper()
	provider, err := link.NewProvider(opts.Options)
	if err != nil {
		in.t.Fatal(err)
	}
	in.provider, in.opts = provider, opts
	mgr, err := mcmanager.New(config, provider, manager.Options{
		Scheme:  in.hub.Scheme(),
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Namespaces: map[string]cache.Config{in.namespace: {}}},
		}},
		Controller:              ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
		GracefulShutdownTimeout: ptr.To(patience),
	})
	if err != nil {
		in.t.Fatal(err)
	}
	if a, ok := opts.admission.(interface{ tells(changed func()) }); ok {
		a.tells(provider.AdmissionChanged)
	}
	provider.Render(opts.admission)
	hub := mgr.GetLocalManager()
	if err := New(hub.GetClient(), hub.GetAPIReader(), hub.GetEventRecorder("vmgroup-operator"), provider).SetupWithManager(hub); err != nil {
		in.t.Fatal(err)
	}
	err = mcbuilder.ControllerManagedBy(mgr).Named("vmgroups-of-"+in.uid).
		For(&v1alpha1.VmGroup{}, mcbuilder.WithEngageWithLocalCluster(false), mcbuilder.WithEngageWithProviderClusters(true)).
		// multicluster-runtime does not pass the manager's own setting on.
		WithOptions(mccontroller.Options{SkipNameValidation: ptr.To(true)}).
		Complete(mcreconcile.Func(func(ctx context.Context, request mcreconcile.Request) (reconcile.Result, error) {
			return in.note(ctx, mgr, request)
		}))
	if err != nil {
		in.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	in.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				in.t.Errorf("the manager ended with: %v", err)
			}
		case <-time.After(patience):
			in.t.Errorf("the manager did not stop within %s", patience)
		}
	})
}

func (in *installation) note(ctx context.Context, mgr mcmanager.Manager, request mcreconcile.Request) (reconcile.Result, error) {
	cl, err := mgr.GetCluster(ctx, request.ClusterName)
	if err != nil {
		return reconcile.Result{}, err
	}
	group := &v1alpha1.VmGroup{}
	if err := cl.GetClient().Get(ctx, request.NamespacedName, group); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	for _, m := range group.ManagedFields { // the managers of spec and replicas are kept, without their fields
		if m.FieldsV1 != nil || len(group.ManagedFields) > 2 {
			in.t.Errorf("managedFields of %s are cached: %+v", request, group.ManagedFields)
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.reconciled[fmt.Sprintf("%s/%s/%s", request.ClusterName, request.Namespace, request.Name)]++
	return reconcile.Result{}, nil
}

// awaitReconciled waits until the VmGroup controller saw a group.
func (in *installation) awaitReconciled(cluster, name string) {
	in.t.Helper()
	key := cluster + "/default/" + name
	await.NoError(in.t, "reconcile of "+key, func() error {
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.reconciled[key] == 0 {
			return fmt.Errorf("seen: %v", in.reconciled)
		}
		return nil
	})
}

// putKubeconfig creates or replaces the Secret "<member>-kubeconfig".
func (in *installation) putKubeconfig(member string, content []byte) {
	in.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: in.namespace, Name: member + "-kubeconfig"}}
	key := client.ObjectKeyFromObject(secret)
	err := in.hub.Get(in.t.Context(), key, secret)
	secret.Data = map[string][]byte{"kubeconfig": content}
	if apierrors.IsNotFound(err) {
		err = in.hub.Create(in.t.Context(), secret)
	} else if err == nil {
		err = in.hub.Update(in.t.Context(), secret)
	}
	if err != nil {
		in.t.Fatal(err)
	}
}

// join creates a MemberCluster; if content is nil, it creates no Secret.
func (in *installation) join(member string, content []byte, change ...func(*v1alpha1.MemberCluster)) {
	in.t.Helper()
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: member}}
	if member != v1alpha1.LocalMember {
		mc.Spec.KubeconfigSecretRef = &v1alpha1.KubeconfigReference{Name: member + "-kubeconfig"}
	}
	for _, c := range change {
		c(mc)
	}
	if content != nil {
		in.putKubeconfig(member, content)
	}
	if err := in.hub.Create(in.t.Context(), mc); err != nil {
		in.t.Fatal(err)
	}
	in.members = append(in.members, member)
	in.uids[member] = mc.UID
}

func (in *installation) get(member string) *v1alpha1.MemberCluster {
	in.t.Helper()
	mc := &v1alpha1.MemberCluster{}
	if err := in.hub.Get(in.t.Context(), types.NamespacedName{Name: member}, mc); err != nil {
		in.t.Fatal(err)
	}
	return mc
}

func (in *installation) edit(member string, change func(*v1alpha1.MemberCluster)) {
	in.t.Helper()
	mc := in.get(member)
	base := mc.DeepCopy()
	change(mc)
	if err := in.hub.Patch(in.t.Context(), mc, client.MergeFrom(base)); err != nil {
		in.t.Fatal(err)
	}
}

// awaitReady waits for a status and reason of the condition Ready and returns the object.
func (in *installation) awaitReady(member string, status metav1.ConditionStatus, reason string) *v1alpha1.MemberCluster {
	in.t.Helper()
	var result *v1alpha1.MemberCluster
	await.NoError(in.t, fmt.Sprintf("member %s Ready=%s %s", member, status, reason), func() error {
		result = in.get(member)
		ready := meta.FindStatusCondition(result.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Status != status || ready.Reason != reason {
			return fmt.Errorf("conditions: %+v", result.Status.Conditions)
		}
		return nil
	})
	return result
}

func (in *installation) awaitEngaged(member string) *v1alpha1.MemberCluster {
	in.t.Helper()
	result := in.awaitReady(member, metav1.ConditionTrue, v1alpha1.ReasonEngaged)
	await.NoError(in.t, "handle of member "+member, func() error {
		if _, ok := in.opts.Fleet.Member(member); !ok {
			return fmt.Errorf("not engaged")
		}
		return nil
	})
	return result
}

// leave deletes a MemberCluster and waits until it no longer exists.
func (in *installation) leave(member string) {
	in.t.Helper()
	in.beginLeave(member)
	in.awaitLeft(member)
}

func (in *installation) beginLeave(member string) {
	in.t.Helper()
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: member}}
	if err := in.hub.Delete(context.Background(), mc); client.IgnoreNotFound(err) != nil {
		in.t.Error(err)
	}
}

func (in *installation) awaitLeft(member string) {
	in.t.Helper()
	ctx := context.Background() // also used by cleanups
	mc := &v1alpha1.MemberCluster{}
	await.NoError(in.t, "removal of member "+member, func() error {
		err := in.hub.Get(ctx, types.NamespacedName{Name: member}, mc)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(fmt.Errorf("still there, finalizers %v", mc.Finalizers), err)
	})
}

func (in *installation) removeAll() {
	for _, member := range in.members {
		in.beginLeave(member)
	}
	for _, member := range in.members {
		in.awaitLeft(member)
	}
	err := in.hub.DeleteAllOf(context.Background(), &corev1.Secret{}, client.InNamespace(in.namespace))
	if err != nil {
		in.t.Error(err)
	}
}

// awaitEvent waits for an event about a MemberCluster that was joined here.
func (in *installation) awaitEvent(member, reason string) eventsv1.Event {
	in.t.Helper()
	var found eventsv1.Event
	await.NoError(in.t, fmt.Sprintf("event %s of member %s", reason, member), func() error {
		list := &eventsv1.EventList{}
		if err := in.hub.List(in.t.Context(), list); err != nil {
			return err
		}
		for _, event := range list.Items {
			if event.Regarding.Kind == "MemberCluster" && event.Regarding.UID == in.uids[member] && event.Reason == reason {
				found = event
				return nil
			}
		}
		return fmt.Errorf("not among %d events", len(list.Items))
	})
	return found
}

// newGroup creates a VmGroup in a member and removes it after the test.
func newGroup(t *testing.T, server *localcluster.ControlPlane, name string) {
	t.Helper()
	member := directClient(t, server.Config)
	group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	group.Spec.CPU, group.Spec.Memory, group.Spec.Template = 1, 1, "any"
	await.NoError(t, "creation of VmGroup "+name, func() error { return member.Create(t.Context(), group) })
	t.Cleanup(func() {
		if err := member.Delete(context.Background(), group); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
}

// claimKey is where a member keeps its claim.
var claimKey = client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: install.ClaimName}
