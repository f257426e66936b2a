package world

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
	"github.com/codeconnect/vmgroup-operator/test/harness/history"
)

const (
	// buckets of the shard map.
	buckets    = 16
	clusterUID = "0c1d2e3f-0000-4000-8000-000000000000"
	namespace  = "team"
)

// World is the environment of replicas. It must be created in a bubble.
type World struct {
	Hub     *shardingtest.Hub
	VCenter *VCenter
	// Member is the cluster with the groups. It is nil in a world of probers.
	Member *Member

	t        testing.TB
	ctx      context.Context
	work     func() work
	replicas []*Replica
	boots    int
	probes   []sharding.Key

	mu       sync.Mutex
	random   *rand.Rand
	sessions int
}

func newWorld(t testing.TB, seed uint64) (w *World, end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	w = &World{Hub: shardingtest.NewHub(), VCenter: newVCenter(), t: t, ctx: ctx, random: rand.New(rand.NewPCG(seed, 0))}
	w.VCenter.OnCall(w.dense)
	return w, func() {
		cancel()
		for _, r := range w.replicas {
			<-r.Done()
		}
	}
}

func bucketOf(key sharding.Key) int {
	return ring.Bucket(key.ClusterUID, key.Namespace, key.Name, buckets)
}

// float is a random number in [0, 1).
func (w *World) float() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.Float64()
}

// newSession returns a function that returns new unique names.
func (w *World) newSession(host string) func() string {
	return func() string {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.sessions++
		return fmt.Sprintf("%s-session-%d", host, w.sessions)
	}
}

// Pass lets virtual time pass, and waits for the actions that are due then.
func (w *World) Pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// Alive returns the replicas that have not ended.
func (w *World) Alive() (alive []*Replica) {
	for _, r := range w.replicas {
		if r.Alive() {
			alive = append(alive, r)
		}
	}
	return alive
}

// Timeline returns the observations of an external observer of the hub.
func (w *World) Timeline() history.Timeline {
	line := history.Timeline{Sessions: map[string]history.Session{}}
	for _, e := range w.Hub.Log() {
		switch {
		case e.Ring != nil:
			line.Rings = append(line.Rings, history.RingSeen{At: e.At, Ring: &e.Ring.Ring})
		case e.NoRing:
			line.Rings = append(line.Rings, history.RingSeen{At: e.At})
		case e.Lease != nil:
			s := history.Session{Name: e.Lease.Session, Boot: e.Lease.Boot, Host: e.Lease.Host, State: string(e.Lease.State), Since: e.At, Changed: e.At}
			if was, ok := line.Sessions[s.Name]; ok && was.State == s.State {
				s.Since = was.Since
			}
			line.Sessions[s.Name] = s
		default:
			s := line.Sessions[e.Deleted]
			s.State, s.Since = history.Gone, e.At
			line.Sessions[e.Deleted] = s
		}
	}
	return line
}
