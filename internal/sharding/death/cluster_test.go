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

// cluster is that of all tests of the package.
var cluster = localcluster.Share("hub")

func TestMain(m *testing.M) { os.Exit(cluster.Run(m)) }

// world is a namespace of its own on a real API server. The test writes the statuses of Pods, as a kubelet does.
type world struct {
	t         *testing.T
	admin     kubernetes.Interface
	namespace string
	// watches is of a user who may do with Pods what rbac.go says and no more; rings is of one who may do anything.
	watches, rings *rest.Config
	timings        protocol.Timings
	// looks reads what the hub holds. One for all looks: a client makes connections of its own.
	looks *hub.Client
}

// scale shortens all times of sharding; a renewal has to come in time on a loaded machine all the same.
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
	// The API server's authorizer learns of a Role by a watch of its own. A watch of Pods that is refused tries again only
	// after seconds.
	w.until("the right to list Pods", func() bool {
		_, err := pods.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	return w
}

// replica is one that runs in a Pod, as far as the API server can tell.
type replica struct {
	*sharding.Replica
	world *world
	boot  string
	pod   *corev1.Pod
	kill  func()
	// watcher is told of peers.
	watcher *Watcher

	mu sync.Mutex
	// gained is when it was told of each bucket that it holds.
	gained map[int]time.Time
	// said are the lines of its log.
	said []string
}

// start makes a Pod and runs a replica and its watch of Pods, until the test ends or it is killed.
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
	r.kill = func() { // nothing is given up
		stop()
		running.Wait()
	}
	w.t.Cleanup(r.kill)
	r.Ready()
	return r
}

// Gained implements sharding.Listener, as what follows does.
func (r *replica) Gained(buckets []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, bucket := range buckets {
		if r.gained[bucket].IsZero() { // a validity that is back after an interruption is told as well
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

// log remembers what the replica logs, and shows it as long as the test runs.
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

// report writes into the status of the replica's Pod that its process has ended.
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

// lastRenewal is when the replica last wrote its Lease, by the same clock as the test's.
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

// holdsAll reports whether the replica was told that it holds everything. Its status says so a moment earlier.
func (r *replica) holdsAll() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.gained) == buckets
}

// gainedAt is when it was told of the bucket that it got last.
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
