package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/edits"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// members are clusters by name.
type members map[multicluster.ClusterName]*member

func (m members) GetCluster(_ context.Context, name multicluster.ClusterName) (cluster.Cluster, error) {
	if m[name] == nil {
		return nil, errors.New("not engaged")
	}
	return m[name], nil
}

type member struct {
	cluster.Cluster
	client client.Client
	events *events.FakeRecorder
	// write is called before each write of status.
	write func() error
}

func (m *member) GetClient() client.Client                     { return m.client }
func (m *member) GetAPIReader() client.Reader                  { return m.client }
func (m *member) GetEventRecorder(string) events.EventRecorder { return m.events }

// noted returns the notes of the events since the last call.
func (m *member) noted() (all []string) {
	for {
		select {
		case e := <-m.events.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

func newMember(t *testing.T, groups ...client.Object) *member {
	t.Helper()
	m := &member{events: events.NewFakeRecorder(100), write: func() error { return nil }}
	m.client = fake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithStatusSubresource(&v1alpha1.VmGroup{}).WithObjects(groups...).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
				if err := m.write(); err != nil {
					return err
				}
				return c.SubResource(sub).Patch(ctx, o, patch, opts...)
			},
		}).Build()
	return m
}

func web(generation int64, replicas int32) *v1alpha1.VmGroup {
	return &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u", Generation: generation},
		Spec:       v1alpha1.VmGroupSpec{Replicas: &replicas},
	}
}

// world is a recorder that is stepped by its test.
type world struct {
	t *testing.T
	*Recorder
	clock *clocktesting.FakeClock
	log   strings.Builder
}

func newWorld(t *testing.T, m members) *world {
	t.Helper()
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 11, 28, 19, 0, 0, 0, time.UTC))}
	log := funcr.New(func(_, line string) { w.log.WriteString(line) }, funcr.Options{})
	w.Recorder = New(Options{Clusters: m, Clock: w.clock, Log: log, Interval: Interval, Settle: Settle})
	return w
}

// after steps after this time.
func (w *world) after(d time.Duration) (more bool) {
	w.clock.Step(d)
	var writers sync.WaitGroup
	more = w.step(w.t.Context(), &writers)
	writers.Wait()
	return more
}

func (w *world) admit(user string, old, group *v1alpha1.VmGroup) {
	w.t.Helper()
	r, changes := edits.Update(edits.By{Member: "team-a", User: user, Manager: "kubectl-edit", At: w.clock.Now()}, old, group)
	if !changes {
		w.t.Fatal("no change")
	}
	w.Admitted(r)
}

func (m *member) edits(t *testing.T) string {
	t.Helper()
	g := &v1alpha1.VmGroup{}
	if err := m.client.Get(t.Context(), client.ObjectKeyFromObject(web(1, 1)), g); err != nil {
		t.Fatal(err)
	}
	all := make([]string, 0, len(g.Status.Edits))
	for _, e := range g.Status.Edits {
		all = append(all, fmt.Sprintf("%d by %s: %s", e.Generation, e.User, strings.Join(e.Fields, ", ")))
	}
	return strings.Join(all, "; ")
}

const noted = "Normal SpecChanged alice (kubectl-edit) changed replicas 2→5 in generation 7"

func TestAStoredEditIsRecordedOnceInStatusAndAnEvent(t *testing.T) {
	m := newMember(t, web(7, 5))
	w := newWorld(t, members{"team-a": m})
	w.admit("alice", web(6, 2), web(7, 5))
	w.admit("alice", web(6, 2), web(7, 5))
	w.after(0)
	if got := m.edits(t); got != "7 by alice: replicas 2→5" {
		t.Errorf("edits %s", got)
	}
	if w.after(Settle - 1); len(m.noted()) > 0 {
		t.Error("an event before other replicas can object")
	}
	w.after(1)
	if got := m.noted(); !slices.Equal(got, []string{noted}) {
		t.Errorf("events %q", got)
	}
	if w.after(Interval); w.after(Interval) {
		t.Error("something is left to do")
	}
	if got := m.noted(); len(got) > 0 {
		t.Errorf("events %q", got)
	}
}

func TestARefusedEditIsNotRecorded(t *testing.T) {
	m := newMember(t, web(6, 2))
	w := newWorld(t, members{"team-a": m})
	w.admit("mallory", web(6, 2), web(7, 5))
	for range 3 {
		if !w.after(10 * time.Second) {
			t.Error("dropped too early")
		}
	}
	if w.after(time.Second); m.edits(t) != "" || len(m.noted()) > 0 || w.after(0) {
		t.Errorf("edits %s", m.edits(t))
	}
}

// TestTwoReplicasThatNameAnotherUser: one of the users was refused, and no replica knows which one.
func TestTwoReplicasThatNameAnotherUser(t *testing.T) {
	m := newMember(t, web(7, 5))
	one, other := newWorld(t, members{"team-a": m}), newWorld(t, members{"team-a": m})
	one.admit("alice", web(6, 2), web(7, 5))
	other.admit("mallory", web(6, 2), web(7, 5))
	one.after(0)
	other.after(0)
	one.after(Settle)
	other.after(Settle)
	if got := m.edits(t); got != "7 by : replicas 2→5" || len(m.noted()) > 0 {
		t.Errorf("edits %s", got)
	}
}

func TestTwoReplicasThatAreCalledForOneRequest(t *testing.T) {
	m := newMember(t, web(7, 5))
	for range 2 {
		w := newWorld(t, members{"team-a": m})
		w.admit("alice", web(6, 2), web(7, 5))
		w.after(0)
		w.after(Settle)
	}
	if got := m.noted(); !slices.Equal(got, []string{noted}) {
		t.Errorf("events %q", got)
	}
}

func TestAConflictWithTheOwnerIsTriedAgain(t *testing.T) {
	m := newMember(t, web(7, 5))
	w := newWorld(t, members{"team-a": m})
	once := true
	m.write = func() error {
		if once {
			once = false
			g := web(7, 5)
			if err := m.client.Get(t.Context(), client.ObjectKeyFromObject(g), g); err != nil {
				t.Error(err)
			}
			g.Status.ReadyReplicas = 3
			return m.client.Status().Update(t.Context(), g)
		}
		return nil
	}
	w.admit("alice", web(6, 2), web(7, 5))
	w.after(0)
	g := web(7, 5)
	if err := m.client.Get(t.Context(), client.ObjectKeyFromObject(g), g); err != nil || g.Status.ReadyReplicas != 3 || len(g.Status.Edits) != 1 {
		t.Errorf("status %+v, %v", g.Status, err)
	}
}

func TestAnUnresponsiveMemberIsTriedForAMinute(t *testing.T) {
	m := newMember(t, web(7, 5))
	m.write = func() error { return apierrors.NewInternalError(errors.New("etcd")) }
	w := newWorld(t, members{"team-a": m})
	w.admit("alice", web(6, 2), web(7, 5))
	for range 7 {
		w.after(10 * time.Second)
	}
	if w.after(time.Second); !strings.Contains(w.log.String(), "Failed to record who changed a VmGroup") || !strings.Contains(w.log.String(), "etcd") || w.after(0) {
		t.Errorf("log %s", w.log.String())
	}
}

func TestADeletedGroupHasNoEdits(t *testing.T) {
	m := newMember(t, web(7, 5))
	w := newWorld(t, members{"team-a": m})
	w.admit("alice", web(6, 2), web(7, 5))
	w.after(0)
	if err := m.client.Delete(t.Context(), web(7, 5)); err != nil {
		t.Fatal(err)
	}
	w.after(Settle)
	if got := m.noted(); len(got) > 0 || w.after(0) {
		t.Errorf("events %q", got)
	}
}

func TestASlowMemberHoldsUpNeitherWebhookNorOthers(t *testing.T) {
	slow, quick := newMember(t, web(7, 5)), newMember(t, web(7, 5))
	began, hangs := make(chan struct{}), make(chan struct{})
	slow.write = func() error { close(began); <-hangs; return nil }
	r := New(Options{
		Clusters: members{"team-a": slow, "team-b": quick}, Clock: clock.RealClock{}, Log: funcr.New(func(string, string) {}, funcr.Options{}),
		Interval: time.Millisecond, Settle: time.Millisecond,
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Start(ctx) }()
	admit := func(member string) {
		q, _ := edits.Update(edits.By{Member: member, User: "alice", Manager: "kubectl-edit", At: time.Now()}, web(6, 2), web(7, 5))
		r.Admitted(q)
	}
	admit("team-a")
	<-began
	admit("team-b")
	await.True(t, "the event of the other member", func() bool { return len(quick.events.Events) == 1 })
	close(hangs)
	await.True(t, "the event of the slow member", func() bool { return len(slow.events.Events) == 1 })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
