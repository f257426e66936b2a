package sharding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

const testBuckets = 16

// node is one replica that runs in a test.
type node struct {
	*Replica
	link *shardingtest.Link
	// log has the lines at level error.
	log  *errorLog
	stop context.CancelFunc
	done chan struct{}

	mu     sync.Mutex
	gained []int
	lost   []int
}

var (
	key   = Key{ClusterUID: "cluster", Namespace: "team", Name: "web"}
	names sync.Mutex
	named int
)

func join(t *testing.T, h *shardingtest.Hub, name string) *node {
	t.Helper()
	return joinOver(t, h.Link(shardingtest.NewProcess(1)), name)
}

func joinOver(t *testing.T, link *shardingtest.Link, name string) *node {
	t.Helper()
	n := &node{link: link, log: &errorLog{}, done: make(chan struct{})}
	var err error
	n.Replica, err = New(Options{
		Hub: n.link, Timings: protocol.DefaultTimings(), Buckets: testBuckets, Boot: "boot-" + name, Host: name,
		NewSession: func() string {
			names.Lock()
			defer names.Unlock()
			named++
			return fmt.Sprintf("%s-%d", name, named)
		},
		Random: func() float64 { return 0.5 }, Clock: protocol.SystemClock(), Log: funcr.New(n.log.add, funcr.Options{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	n.stop = stop
	go func() {
		defer close(n.done)
		_ = n.Run(ctx, n)
	}()
	n.Ready()
	t.Cleanup(n.leave)
	return n
}

// errorLog keeps lines at level error.
type errorLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *errorLog) add(_, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !strings.HasPrefix(line, `"level"`) { // funcr's lines of Info
		l.lines = append(l.lines, line)
	}
}

func (l *errorLog) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// Gained implements Listener, like the methods below.
func (n *node) Gained(b []int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gained = append(n.gained, b...)
}

func (n *node) Lost(b []int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lost = append(n.lost, b...)
}

func (*node) LeadershipChanged() {}
func (*node) PeersChanged()      {}
func (*node) SessionsEnded()     {}

// leave ends the replica like a kill: it releases nothing.
func (n *node) leave() {
	n.stop()
	<-n.done
}

// counts returns the number of buckets gained and lost since the last call.
func (n *node) counts() (gained, lost int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	gained, lost = len(n.gained), len(n.lost)
	n.gained, n.lost = nil, nil
	return gained, lost
}

// pass advances virtual time and runs everything due.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func held(nodes ...*node) (each []int) {
	for _, n := range nodes {
		each = append(each, n.Status().Held)
	}
	return each
}

func TestReplicasShareAndTakeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := shardingtest.NewHub()
		a, b := join(t, h, "a"), join(t, h, "b")
		pass(13 * time.Second)
		if each := held(a, b); !slices.Equal(each, []int{8, 8}) {
			t.Fatalf("after the first wait they hold %v", each)
		}
		if a.Leading() == b.Leading() {
			t.Error("there is not exactly one leader")
		}
		c := join(t, h, "c")
		pass(25 * time.Second)
		each := held(a, b, c)
		if slices.Sort(each); !slices.Equal(each, []int{5, 5, 6}) {
			t.Errorf("after c has joined they hold %v", each)
		}
		a.leave() // like a kill: nothing is released
		pass(12500 * time.Millisecond)
		if sum := b.Status().Held + c.Status().Held; sum != testBuckets {
			t.Errorf("12.5 s after the kill %d of %d buckets have an owner", sum, testBuckets)
		}
		if !b.BootDead("boot-a") || b.BootDead("boot-c") {
			t.Error("BootDead does not distinguish dead from live replicas")
		}
	})
}

func TestAReplicaThatStartsLogsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := shardingtest.NewHub()
		a := join(t, h, "a")
		pass(time.Minute)
		if lines := a.log.all(); len(lines) > 0 {
			t.Errorf("it logged %q", lines)
		}
		link := h.Link(shardingtest.NewProcess(1))
		link.Set(shardingtest.BlackHoled)
		cut := joinOver(t, link, "cut")
		pass(startsWithin + time.Minute)
		if lines := cut.log.all(); !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "takes no share") }) {
			t.Errorf("a replica that never reads the shard map logged only %q", lines)
		}
	})
}

func TestADrainedReplicaIsReplacedAtOnceAndItsCallInFlightEndsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := shardingtest.NewHub()
		a, b := join(t, h, "a"), join(t, h, "b")
		pass(30 * time.Second)
		if b.Holds(key) {
			a, b = b, a
		}
		token, ok := a.Enter(t.Context(), key)
		if !ok {
			t.Fatal("the holder may not enter")
		}
		drained := make(chan error, 1)
		go func() { drained <- a.Drain(t.Context()) }()
		pass(500 * time.Millisecond)
		if got := b.Status().Held; got != testBuckets-1 {
			t.Errorf("half a second after SIGTERM the other holds %d, want all but the busy one", got)
		}
		if _, ok := a.Enter(t.Context(), key); ok {
			t.Error("a draining replica begins something new")
		}
		if err := token.Check(); !errors.Is(err, protocol.ErrYielding) {
			t.Errorf("another call of the pass in flight: %v", err)
		}
		if token.Context().Err() != nil {
			t.Error("the call in flight was aborted")
		}
		token.Exit()
		pass(100 * time.Millisecond)
		if err := <-drained; err != nil || !b.Holds(key) {
			t.Errorf("drained with %v; the other holds the rest: %v", err, b.Holds(key))
		}
	})
}

func TestACallInFlightForTooLongIsNotHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := shardingtest.NewHub()
		a := join(t, h, "a")
		pass(13 * time.Second)
		token, _ := a.Enter(t.Context(), key)
		defer token.Exit()
		began := time.Now()
		if err := a.Drain(t.Context()); !errors.Is(err, errSlow) || time.Since(began) != protocol.DefaultTimings().Drain {
			t.Errorf("drained after %s: %v", time.Since(began), err)
		}
		if token.Context().Err() != nil {
			t.Error("the call was aborted although the session is valid")
		}
	})
}

func TestAReplicaThatIsCutOffStopsByItselfAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := shardingtest.NewHub()
		a := join(t, h, "a")
		pass(13 * time.Second)
		token, ok := a.Enter(t.Context(), key)
		if !ok || token.Check() != nil {
			t.Fatal("the only replica may not act")
		}
		defer token.Exit()
		a.counts()
		a.link.Set(shardingtest.BlackHoled)
		pass(4900 * time.Millisecond) // less than 3 s are left of at most 8
		checked := make(chan error, 1)
		go func() { checked <- token.Check() }()
		synctest.Wait()
		select {
		case err := <-checked:
			t.Fatalf("with too little left to begin a call the check does not wait for a renewal: %v", err)
		default:
		}
		pass(3100 * time.Millisecond)
		if err := <-checked; err == nil || token.Context().Err() == nil || a.Status().Left > 0 {
			t.Errorf("8 s after the last renewal the check says %v, the context %v", err, token.Context().Err())
		}
		if _, ok := a.Enter(t.Context(), key); ok {
			t.Error("a replica without validity may enter")
		}
		a.link.Set(shardingtest.Fine)
		pass(6 * time.Second)
		if gained, lost := a.counts(); gained != testBuckets || lost != 0 {
			t.Errorf("when the hub was back, %d buckets were gained and %d lost, want all and none", gained, lost)
		}
		if again, ok := a.Enter(t.Context(), key); !ok || again.Check() != nil {
			t.Error("the replica does not continue")
		} else {
			again.Exit()
		}
	})
}

func TestARenewalThatIsOutstandingIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := shardingtest.NewHub()
		a := join(t, h, "a")
		pass(13 * time.Second)
		token, _ := a.Enter(t.Context(), key)
		defer token.Exit()
		a.link.Set(shardingtest.BlackHoled)
		pass(5500 * time.Millisecond)
		checked := make(chan error, 1)
		go func() { checked <- token.Check() }()
		synctest.Wait()
		a.link.Set(shardingtest.Fine)
		if err := <-checked; err != nil || a.Status().Left < protocol.DefaultTimings().Submit {
			t.Errorf("after the renewal the check says %v with %s left", err, a.Status().Left)
		}
	})
}

func TestWhatIsPublishedReachesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := shardingtest.NewHub()
		a, b := join(t, h, "a"), join(t, h, "b")
		pass(13 * time.Second)
		a.Publish("tasks", "7")
		pass(time.Second)
		for _, peer := range b.Peers() {
			if peer.Host == "a" && (peer.Published["tasks"] != "7" || peer.Self) || peer.Host == "b" && !peer.Self {
				t.Errorf("b sees %+v", peer)
			}
		}
		if len(b.Peers()) != 2 {
			t.Errorf("b sees %d sessions", len(b.Peers()))
		}
	})
}

func TestTimingsThatContradictEachOtherAreRefused(t *testing.T) {
	timings := protocol.DefaultTimings()
	timings.Patience = timings.Validity
	if _, err := New(Options{Timings: timings, Buckets: 1}); err == nil {
		t.Error("a takeover timeout equal to the validity was accepted")
	}
}
