//go:build unix && !fast

package death

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/hub"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

const buckets = 8

// cluster is shared by all tests of the package.
var cluster = localcluster.Share("hub")

func TestMain(m *testing.M) { os.Exit(cluster.Run(m)) }

// world is a separate namespace on a real API server. The test writes the Pod statuses, as a kubelet does.
type world struct {
	t         *testing.T
	admin     kubernetes.Interface
	namespace string
	// watches is of a user with exactly the permissions on Pods in rbac.go; rings is of a user with all permissions.
	watches, rings *rest.Config
	timings        protocol.Timings
	// looks reads the hub's objects. All reads share it, because each client opens its own connections.
	looks *hub.Client
}

// scale shortens all times of sharding. Renewals must still arrive in time on a loaded machine.
const scale = 0.6

func newWorld(t *testing.T, namespace string) *world {
	t.Helper()
	server, user := cluster.Get(t), "replica-of-"+namespace
	w := &world{
		t: t, namespace: namespace, rings: server.Config, watches: server.UserConfig(t, user), timings: protocol.DefaultTimings().Scaled(scale),
	}
	var err error
	if w.admin, err = kubernetes.NewForConfig(server.Config); err != nil {
		t.Fatal(err)
	}
	_, err = w.admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "pods"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "pods"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "pods"},
	}
	if _, err := w.admin.RbacV1().Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.admin.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if w.looks, err = hub.New(w.rings, hub.Options{Namespace: w.namespace}); err != nil {
		t.Fatal(err)
	}
	pods, err := kubernetes.NewForConfig(w.watches)
	if err != nil {
		t.Fatal(err)
	}
	// The API server's authorizer learns of a Role from its own watch. A denied watch of Pods retries only after
	// seconds.
	w.until("the right to list Pods", func() bool {
		_, err := pods.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	return w
}

// replica is a replica that appears to the API server to run in a Pod.
type replica struct {
	*sharding.Replica
	world *world
	boot  string
	pod   *corev1.Pod
	kill  func()
	// watcher reports the deaths of peers to the replica.
	watcher *Watcher

	mu sync.Mutex
	// gained is the time at which the replica was notified of each bucket that it holds.
	gained map[int]time.Time
	// said contains the lines of its log.
	said []string
}

// start creates a Pod and runs a replica and its watch of Pods, until the test ends or kills it.
func (w *world) start(name string) *replica {
	w.t.Helper()
	pod, err := w.admin.CoreV1().Pods(w.namespace).Create(w.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app.kubernetes.io/name": "vmgroup-operator"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "vmgroup-operator"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.startIn(pod)
}

func (w *world) startIn(pod *corev1.Pod) *replica {
	w.t.Helper()
	r := &replica{world: w, boot: uuid.NewString(), pod: pod, gained: map[int]time.Time{}}
	log := r.log()
	client, err := hub.New(w.rings, hub.Options{Namespace: w.namespace, Request: w.timings.Request})
	if err != nil {
		w.t.Fatal(err)
	}
	r.Replica, err = sharding.New(sharding.Options{
		Hub: client, Timings: w.timings, Buckets: buckets, Boot: r.boot, Host: pod.Name,
		NewSession: uuid.NewString, Random: rand.Float64, Clock: protocol.SystemClock(), Log: log,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	r.Publish(PublishedKey, Place{Pod: pod.UID, Container: "manager"}.String())
	pods, err := kubernetes.NewForConfig(w.watches)
	if err != nil {
		w.t.Fatal(err)
	}
	r.watcher = NewWatcher(Options{Pods: pods.CoreV1().Pods(w.namespace), Replicas: r.Replica, Log: log})
	ctx, stop := context.WithCancel(w.t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = r.Run(ctx, r) })
	running.Go(func() { _ = r.watcher.Start(ctx) })
	r.kill = func() { // nothing is released
		stop()
		running.Wait()
	}
	w.t.Cleanup(r.kill)
	r.Ready()
	return r
}

// Gained implements sharding.Listener, like the methods below.
func (r *replica) Gained(buckets []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, bucket := range buckets {
		if r.gained[bucket].IsZero() { // a validity regained after an interruption is reported as well
			r.gained[bucket] = time.Now()
		}
	}
}

func (r *replica) Lost(buckets []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, bucket := range buckets {
		delete(r.gained, bucket)
	}
}

func (r *replica) PeersChanged()    { r.watcher.Changed() }
func (*replica) LeadershipChanged() {}
func (*replica) SessionsEnded()     {}

// log stores the replica's log lines, and prints them while the test runs.
func (r *replica) log() logr.Logger {
	t := r.world.t
	return funcr.New(func(prefix, line string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.said = append(r.said, line)
		if t.Context().Err() == nil {
			t.Log(prefix, line)
		}
	}, funcr.Options{}).WithName(r.pod.Name)
}

// says reports whether the replica has logged a text.
func (r *replica) says(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.said, func(line string) bool { return strings.Contains(line, text) })
}

// report writes into the replica's Pod status that its process has ended.
func (r *replica) report(change func(*corev1.ContainerStateTerminated)) {
	w := r.world
	w.t.Helper()
	ended := &corev1.ContainerStateTerminated{
		ExitCode: 137, Reason: "Error", Message: r.boot, ContainerID: "containerd://abc", FinishedAt: metav1.Now(),
	}
	if change != nil {
		change(ended)
	}
	pod := r.pod.DeepCopy()
	pod.ResourceVersion = ""
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "manager", Image: "vmgroup-operator", State: corev1.ContainerState{Terminated: ended},
	}}
	if _, err := w.admin.CoreV1().Pods(w.namespace).UpdateStatus(w.t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// lastRenewal is when the replica last wrote its Lease, by the test's clock.
func (r *replica) lastRenewal() time.Time { return r.lease().Renewed }

func (r *replica) lease() hub.Session {
	w := r.world
	w.t.Helper()
	snapshot, err := w.looks.Snapshot(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, session := range snapshot.Sessions {
		if session.Session == r.Session() {
			return session
		}
	}
	w.t.Fatalf("there is no Lease of session %s", r.Session())
	return hub.Session{}
}

// holdsAll reports whether the replica was notified that it holds all buckets. Its status shows it slightly earlier.
func (r *replica) holdsAll() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.gained) == buckets
}

// gainedAt is when the replica was notified of the bucket that it gained last.
func (r *replica) gainedAt() (last time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, at := range r.gained {
		if at.After(last) {
			last = at
		}
	}
	return last
}

// knows reports whether the replica sees a session of a Pod.
func (r *replica) knows(pod types.UID) bool {
	for _, peer := range r.Peers() {
		if place, ok := ParsePlace(peer.Published[PublishedKey]); ok && place.Pod == pod && !peer.Self && peer.State == protocol.Ready {
			return true
		}
	}
	return false
}

// until polls until check holds.
func (w *world) until(what string, check func() bool) {
	w.t.Helper()
	await.True(w.t, what, check)
}
