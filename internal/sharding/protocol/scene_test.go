package protocol

import (
	"testing"
	"time"
)

// scene is a hub that responds at once, and replicas on one clock that receive every event at once. Each test
// breaks part of that.
type scene struct {
	t        *testing.T
	hub      *hub
	now      time.Duration
	replicas []*actor
}

// actor is a replica on a scene.
type actor struct {
	*Replica
	scene *scene
	wall  time.Duration
	// offline actors reach no hub, deaf ones receive no events, still ones do not run.
	offline, deaf, still bool
	// spoil, if it is not nil, can replace the response to an executed request, or prevent the execution if it does
	// not call do.
	spoil   func(op Op, do func() Result) Result
	changes Changes
	sent    []Op
}

const tick = 50 * time.Millisecond

func newScene(t *testing.T) *scene {
	t.Helper()
	return &scene{t: t, hub: newSim(1, setup{buckets: 64}).hub}
}

func (sc *scene) join(name string, buckets int) *actor {
	sessions := 0
	a := &actor{scene: sc}
	a.Replica = New(Config{
		Timings: DefaultTimings(), Buckets: buckets, Hash: "h", Boot: name, Host: "host-" + name,
		NewSession: func() string {
			sessions++
			return name + "." + string(rune('0'+sessions))
		},
		Random: func() float64 { return 0.5 },
	})
	a.Ready()
	sc.replicas = append(sc.replicas, a)
	return a
}

// clock of an actor.
func (a *actor) clock() Instant {
	return Instant{Mono: time.Hour + a.scene.now, Wall: epochOfWalls.Add(a.scene.now + a.wall)}
}

// pass advances time.
func (sc *scene) pass(d time.Duration) {
	for end := sc.now + d; sc.now < end; {
		sc.now += tick
		for _, a := range sc.replicas {
			a.live()
		}
	}
}

// live runs one tick of an actor.
func (a *actor) live() {
	if a.still {
		return
	}
	if !a.deaf && !a.offline {
		a.look()
	}
	a.act()
}

// look delivers the whole state to the actor.
func (a *actor) look() {
	a.SawLeases(a.clock(), a.scene.hub.list(leaseKind).leases)
	if stored := a.scene.hub.list(ringKind).ring; stored != nil {
		a.SawRing(a.clock(), *stored)
	} else {
		a.RingGone()
	}
}

// act sends the actor's requests until it has none left.
func (a *actor) act() {
	for range 20 {
		requests, _ := a.Next(a.clock())
		for _, request := range requests {
			a.sent = append(a.sent, request.Op)
			do := func() Result { return a.scene.hub.do(request.Op) }
			var result Result
			switch {
			case a.offline:
			case a.spoil != nil:
				result = a.spoil(request.Op, do)
			default:
				result = do()
			}
			a.Complete(a.clock(), request.Lane, result)
		}
		c := a.Take()
		a.changes.Gained = append(a.changes.Gained, c.Gained...)
		a.changes.Lost = append(a.changes.Lost, c.Lost...)
		a.changes.Dead = append(a.changes.Dead, c.Dead...)
		a.changes.Took = append(a.changes.Took, c.Took...)
		a.changes.Refuted = append(a.changes.Refuted, c.Refuted...)
		a.changes.Fenced = a.changes.Fenced || c.Fenced
		a.changes.Relist = a.changes.Relist || c.Relist
		if len(requests) == 0 {
			return
		}
	}
	a.scene.t.Fatalf("%v: %s sends without end: %T", a.scene.now, a.Session(), a.sent[len(a.sent)-1])
}

// mayAct returns the buckets on which the actor can act.
func (a *actor) mayAct() (buckets []int) {
	for b := range a.locks {
		if a.Holds(a.clock(), b) {
			buckets = append(buckets, b)
		}
	}
	return buckets
}

// settled is enough time for all buckets to reach their place.
const settled = 40 * time.Second

// wants fails the test unless the actor can act on exactly this number of buckets.
func (a *actor) wants(buckets int, why string) {
	a.scene.t.Helper()
	if got := a.mayAct(); len(got) != buckets {
		a.scene.t.Fatalf("%v: %s may act on %v, want %d buckets: %s; %s", a.scene.now, a.Session(), got, buckets, why, a.Problem())
	}
}
