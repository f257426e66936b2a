package vcenter

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/logins"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	fleetReplicas = 3
	fleetVCenters = 3
	rightPassword = "right"
)

// fleet is three replicas with three VCenters each, which share one account at a simulator. Its time is virtual.
type fleet struct {
	*testing.T
	hub      client.WithWatch
	sim      *sim.Simulator
	replicas []*Reconciler
	wakes    []chan struct{}
	loops    sync.WaitGroup
	// changed is the time of the last change of a user name or password: then passes follow each other as quickly as in a
	// replica.
	changed atomic.Int64
	stop    context.CancelFunc
}

// liveConnection is a connection to the simulator.
type liveConnection struct{ *govmomi.Server }

func (liveConnection) SetLimits(int, int) {}

// inFleet runs a story in virtual time, with a Secret that has this password, and checks that the account was never locked.
func inFleet(t *testing.T, password string, mostRejected int, story func(f *fleet)) {
	t.Helper()
	inFleetOf(t, sim.Options{Password: rightPassword}, password, mostRejected, story)
}

// inFleetOf is inFleet with a vCenter that starts when the story does.
func inFleetOf(t *testing.T, o sim.Options, password string, mostRejected int, story func(f *fleet)) {
	t.Helper()
	s, err := sim.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	synctest.Test(t, func(t *testing.T) {
		s.EndLogins()
		f := newFleet(t, s, password)
		story(f)
		f.stop()
		f.loops.Wait()
		for _, r := range f.replicas {
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			_ = r.Pool.Start(ended)
		}
		rejected, locked := s.RejectedLogins()
		if locked > 0 || rejected > mostRejected {
			t.Errorf("%d rejected logins, want %d at most; the account was locked %d times", rejected, mostRejected, locked)
		}
	})
}

func newFleet(t *testing.T, s *sim.Simulator, password string) *fleet {
	t.Helper()
	credentials := secret("username", s.Username(), "password", password, "VC_HOST", "vc.example.com")
	credentials.Namespace = "operator"
	objects := append(make([]client.Object, 0, 1+fleetVCenters), credentials)
	for i := range fleetVCenters {
		vc := vcenterForTest()
		vc.Name, vc.UID, vc.Status = fmt.Sprint("vc-", i), types.UID(fmt.Sprint("uid-", i)), v1alpha1.VCenterStatus{}
		vc.Spec.Folder, vc.Spec.Inventory = vc.Name, v1alpha1.Inventory{Mode: v1alpha1.InventoryPoll, PollSeconds: 60}
		objects = append(objects, vc)
	}
	f := &fleet{T: t, sim: s}
	f.changed.Store(time.Now().UnixNano())
	f.hub = clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithStatusSubresource(&v1alpha1.VCenter{}).WithObjects(objects...).Build()
	ctx, cancel := context.WithCancel(t.Context())
	f.stop = cancel
	memory := new(logins.Memory)
	for i := range fleetReplicas {
		keeper := logins.New(logins.Options{Store: memory, Boot: fmt.Sprint("boot-", i), Now: time.Now})
		r := &Reconciler{
			Client: f.hub, Pool: NewPool(), Groups: &groupsForTest{}, Namespace: "operator", Now: time.Now,
			Events: events.NewFakeRecorder(10000), Leader: new(shardingtest.Leader(i == 0)),
			Dial: func(c Config, n vsphere.Notifier) Connection {
				return liveConnection{govmomi.New(govmomi.Config{
					Name: c.Name, Installation: "inst", RootFolder: c.Folder, Mode: govmomi.Poll, PollInterval: c.PollInterval, Notifier: n,
					Session: session.Config{
						URL: c.URL, Username: c.Username, Password: c.Password, UserAgent: fmt.Sprint("replica-", i), Transport: s.Transport(),
						Gate: keeper.Gate(c.URL, c.Username, c.Password, c.Attempt),
					},
				})}
			},
		}
		wake := make(chan struct{}, 1)
		f.replicas, f.wakes = append(f.replicas, r), append(f.wakes, wake)
		f.loops.Go(func() { f.run(ctx, r, wake) })
	}
	return f
}

// run passes over the VCenters, often for a while after something changed.
func (f *fleet) run(ctx context.Context, r *Reconciler, wake <-chan struct{}) {
	for ctx.Err() == nil {
		for i := range fleetVCenters {
			if _, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: types.NamespacedName{Name: fmt.Sprint("vc-", i)}}); err != nil && ctx.Err() == nil {
				f.Errorf("pass: %v", err)
			}
		}
		pause := 10 * time.Second
		if time.Since(time.Unix(0, f.changed.Load())) < 15*time.Second {
			pause = soon
		}
		select {
		case <-ctx.Done():
		case <-wake:
		case <-time.After(pause):
		}
	}
}

// edit changes the Secret; the replicas see that at once.
func (f *fleet) edit(change func(*corev1.Secret)) {
	f.Helper()
	credentials := &corev1.Secret{}
	if err := f.hub.Get(f.Context(), types.NamespacedName{Namespace: "operator", Name: "vc-creds"}, credentials); err != nil {
		f.Fatal(err)
	}
	change(credentials)
	if credentials.Labels == nil {
		f.changed.Store(time.Now().UnixNano())
	}
	if err := f.hub.Update(f.Context(), credentials); err != nil {
		f.Fatal(err)
	}
	for _, wake := range f.wakes {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

func (f *fleet) setPassword(password string) {
	f.Helper()
	f.edit(func(s *corev1.Secret) { s.Data["password"] = []byte(password) })
}

// served returns how many of the connections of all replicas serve.
func (f *fleet) served() (n int) {
	for _, r := range f.replicas {
		for i := range fleetVCenters {
			if server, ok := r.Pool.Server(fmt.Sprint("vc-", i)); ok && server.Health().Reachable {
				n++
			}
		}
	}
	return n
}

// allServedWithin checks that all connections of all replicas serve at the end of a time.
func (f *fleet) allServedWithin(d time.Duration) {
	f.Helper()
	<-time.After(d)
	synctest.Wait()
	if n := f.served(); n != fleetReplicas*fleetVCenters {
		f.Errorf("%d of %d connections serve after %s: %s", n, fleetReplicas*fleetVCenters, d, f.says())
	}
}

// says returns the message of condition CredentialsValid of a VCenter.
func (f *fleet) says() string {
	f.Helper()
	vc := &v1alpha1.VCenter{}
	if err := f.hub.Get(f.Context(), types.NamespacedName{Name: "vc-1"}, vc); err != nil {
		f.Fatal(err)
	}
	c := meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionCredentialsValid)
	if c == nil {
		return ""
	}
	if c.Status == metav1.ConditionTrue {
		return "valid"
	}
	return c.Message
}

func TestHalfAnHourWithAWrongPasswordLocksNothingAndTheRightOneServesWithinSeconds(t *testing.T) {
	inFleet(t, "wrong", 3, func(f *fleet) {
		<-time.After(time.Minute)
		mustSay(f, "rejected this user name and password 1 time since", "the next try is at", "may be locked")
		<-time.After(29 * time.Minute)
		mustSay(f, "3 times since", "are not tried again", "unlock it in vCenter")
		f.setPassword(rightPassword)
		f.allServedWithin(10 * time.Second)
	})
}

func TestAPasswordThatVCenterGotFirstLocksNothing(t *testing.T) {
	inFleet(t, rightPassword, 3, func(f *fleet) {
		f.allServedWithin(10 * time.Second)
		f.sim.SetPassword("rotated")
		f.sim.EndLogins()
		<-time.After(10 * time.Minute)
		f.setPassword("rotated")
		f.allServedWithin(10 * time.Second)
	})
}

func TestFiveWrongPasswordsInFiveMinutesLockNothing(t *testing.T) {
	inFleet(t, "wrong-0", 4, func(f *fleet) {
		for i := range 4 {
			<-time.After(time.Minute)
			f.setPassword(fmt.Sprint("wrong-", i+1))
		}
		<-time.After(30 * time.Second)
		mustSay(f, "4 logins of this account within 15 minutes", "are tried at")
		<-time.After(30 * time.Second)
		f.setPassword(rightPassword)
		f.allServedWithin(10*time.Minute + 15*time.Second) // the first rejection was five minutes ago
	})
}

func TestALabelOfTheSecretIsNoOtherPassword(t *testing.T) {
	inFleet(t, "wrong", 2, func(f *fleet) {
		for i := range 60 {
			<-time.After(10 * time.Second)
			f.edit(func(s *corev1.Secret) { s.Labels = map[string]string{"seen": fmt.Sprint(i)} })
		}
		f.edit(func(s *corev1.Secret) { s.Labels, s.Data["password"] = nil, []byte(rightPassword) })
		f.allServedWithin(10 * time.Second)
	})
}

func TestTheSamePasswordIsTriedAnewAfterTheAccountWasUnlocked(t *testing.T) {
	inFleet(t, "not-yet", 3, func(f *fleet) {
		<-time.After(30 * time.Minute)
		f.sim.SetPassword("not-yet")
		f.edit(func(s *corev1.Secret) { s.Data[logins.AttemptKey] = []byte("2") })
		f.allServedWithin(10 * time.Second)
	})
}

// TestAVCenterWhoseTokenServiceIsNotReadyCostsOneTry: it rejects the right password for a minute after each start.
func TestAVCenterWhoseTokenServiceIsNotReadyCostsOneTry(t *testing.T) {
	inFleetOf(t, sim.Options{Password: rightPassword, TokenServiceStart: time.Minute}, rightPassword, 2, func(f *fleet) {
		<-time.After(30 * time.Second)
		mustSay(f, "1 time since", "the next try is at", "If vCenter has just started, wait")
		f.allServedWithin(105 * time.Second)
		f.sim.EndLogins()
		f.allServedWithin(195 * time.Second) // the end of the sessions is detected within a minute
	})
}

// TestATokenServiceThatTakesLongIsWaitedForWithTwoTries: the third one is reserved for a quarter of an hour.
func TestATokenServiceThatTakesLongIsWaitedForWithTwoTries(t *testing.T) {
	inFleetOf(t, sim.Options{Password: rightPassword, TokenServiceStart: 10 * time.Minute}, rightPassword, 2, func(f *fleet) {
		<-time.After(5 * time.Minute)
		mustSay(f, "2 times since", "the next try is at", "set key attempt of the Secret to another value to have it tried at once")
		f.allServedWithin(12*time.Minute + 15*time.Second)
	})
}

func mustSay(f *fleet, words ...string) {
	f.Helper()
	synctest.Wait()
	said := f.says()
	for _, word := range words {
		if !strings.Contains(said, word) {
			f.Errorf("condition says %q, want %q in it", said, word)
		}
	}
}
