package protocol

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

func TestWallClockThatIsSetTakesNothingFromOthers(t *testing.T) {
	for name, jump := range map[string]time.Duration{"back": -10 * time.Minute, "forward": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t)
			a, b := sc.join("a", 4), sc.join("b", 4)
			sc.pass(2 * settled)
			sessions := []string{a.Session(), b.Session()}
			a.wall += jump
			if acts := len(a.mayAct()) > 0; acts != (jump < 0) {
				t.Errorf("acts: %v", acts)
			}
			sc.pass(DefaultTimings().Renew + tick)
			a.wants(2, "it has renewed since")
			sc.pass(settled)
			b.wants(2, "nothing was taken")
			if !slices.Equal(sessions, []string{a.Session(), b.Session()}) {
				t.Errorf("the sessions were %v, are %s, %s", sessions, a.Session(), b.Session())
			}
		})
	}
}

func TestWallClockThatIsSetBackLengthensNothing(t *testing.T) {
	sc := newScene(t)
	a := sc.join("a", 4)
	sc.pass(settled)
	a.offline = true
	a.wall -= 10 * time.Minute
	sc.pass(DefaultTimings().Validity)
	a.wants(0, "the monotonic clock says that it is over")
}

func TestMonotonicClockThatStoodStillLengthensNothing(t *testing.T) {
	sc := newScene(t)
	a := sc.join("a", 4)
	sc.pass(settled)
	a.wall += DefaultTimings().Validity // a suspended machine: the wall clock continued
	a.wants(0, "the wall clock says that it is over")
}

func TestShortValidityBeginsNoCall(t *testing.T) {
	sc := newScene(t)
	a := sc.join("a", 4)
	sc.pass(settled)
	token, _ := a.Enter(a.clock(), 0)
	if err := a.Check(a.clock(), token); err != nil {
		t.Fatal(err)
	}
	a.offline = true
	sc.pass(DefaultTimings().Validity - DefaultTimings().Submit + tick)
	if err := a.Check(a.clock(), token); !errors.Is(err, ErrShort) || !a.Alive(a.clock(), token) {
		t.Errorf("%v is left, and a call may begin: %v", a.Left(a.clock()), err)
	}
	sc.pass(DefaultTimings().Submit)
	if err := a.Check(a.clock(), token); !errors.Is(err, ErrLost) || a.Alive(a.clock(), token) {
		t.Errorf("%v is left, and a call may begin: %v", a.Left(a.clock()), err)
	}
}

func TestWhatIsPublishedReachesTheOthers(t *testing.T) {
	sc := newScene(t)
	a, b := sc.join("a", 4), sc.join("b", 4)
	sc.pass(settled)
	a.Publish("tasks", "7")
	sc.pass(DefaultTimings().Renew/4 + tick)
	read := func() string {
		for _, peer := range b.Peers() {
			if peer.Session == a.Session() {
				return peer.Published["tasks"]
			}
		}
		return "no peer"
	}
	if got := read(); got != "7" {
		t.Errorf("the other reads %q", got)
	}
	before := len(a.sent)
	a.Publish("tasks", "7")
	if requests, _ := a.Next(a.clock()); len(requests) > 0 {
		t.Errorf("old news is published: %T", requests[0].Op)
	}
	for i := range 1000 {
		a.Publish("tasks", string(rune('a'+i%26)))
		if i%10 == 0 {
			sc.pass(tick)
		}
	}
	if sent := len(a.sent) - before; sent > 20 {
		t.Errorf("%d requests in five seconds", sent)
	}
	a.Publish("tasks", "")
	sc.pass(time.Second)
	if got := read(); got != "" {
		t.Errorf("the other reads %q", got)
	}
	a.still = true
	sc.pass(settled)
	if got := read(); got != "no peer" {
		t.Errorf("a dead one's board is %q", got)
	}
}

func TestBootIsDeadWhenAllItsSessionsAre(t *testing.T) {
	sc := newScene(t)
	a, b := sc.join("a", 4), sc.join("b", 4)
	sc.pass(settled)
	if a.BootDead(a.clock(), "b") || a.BootDead(a.clock(), "a") {
		t.Error("the living are called dead")
	}
	if !a.BootDead(a.clock(), "long-ago") {
		t.Error("a boot that left nothing is called alive")
	}
	b.still = true
	sc.pass(DefaultTimings().Patience - DefaultTimings().Renew - tick)
	if a.BootDead(a.clock(), "b") {
		t.Error("a replica was called dead too early")
	}
	sc.pass(4 * time.Second)
	if !a.BootDead(a.clock(), "b") {
		t.Error("the fenced one is called alive")
	}
	a.offline = true
	sc.pass(settled)
	if a.BootDead(a.clock(), "b") {
		t.Error("it judges without a hub")
	}
}

// TestDeletedLeaseIsNoProofOfDeath: a live replica creates a new Lease, which others see only after a delay.
func TestDeletedLeaseIsNoProofOfDeath(t *testing.T) {
	sc := newScene(t)
	a, b := sc.join("a", 1), sc.join("b", 1)
	sc.pass(settled)
	if len(b.mayAct()) > 0 {
		a, b = b, a // the case is about a session that holds nothing
	}
	b.still = true
	sc.hub.deleteLease(b.Session())
	for range (DefaultTimings().Patience - time.Second) / tick {
		sc.pass(tick)
		if a.BootDead(a.clock(), b.cfg.Boot) {
			t.Fatal("a replica was called dead whose Lease was deleted by hand")
		}
	}
	sc.pass(2 * time.Second)
	if !a.BootDead(a.clock(), b.cfg.Boot) {
		t.Error("the replica was silent for the takeover timeout, and is not called dead")
	}
}

// TestProofOfDeathShortensPatienceAndSkipsNoFence: no takeover from a session whose last renewal can still be in
// flight.
func TestProofOfDeathShortensPatienceAndSkipsNoFence(t *testing.T) {
	sc := newScene(t)
	a, b := sc.join("a", 4), sc.join("b", 4)
	sc.pass(2 * settled)
	session := b.Session()
	b.still = true
	if !a.DeathProven(session) {
		t.Error("the proof was not believed")
	}
	sc.pass(DefaultTimings().Proven - DefaultTimings().Renew - tick)
	a.wants(2, "it may have renewed just now")
	sc.pass(DefaultTimings().Renew + DefaultTimings().Orphan)
	a.wants(4, "its death was proven")
	if fenced := sc.hub.leases[session]; fenced.State != Fenced || !fenced.DeathProven {
		t.Errorf("the fence is %+v, want one that says that the death was proven", fenced)
	}
	if took := a.changes.Took; len(took) != 1 || took[0].Session != session || !took[0].DeathProven || took[0].Silent >= DefaultTimings().Patience {
		t.Errorf("taken over: %+v, want one takeover by proof", took)
	}
}

// TestFalseProofOfDeathIsRefutedByTheNextRenewal: a live session is not fenced, neither at once nor after the silence
// that a proof requires. Later proofs of its death have no effect.
func TestFalseProofOfDeathIsRefutedByTheNextRenewal(t *testing.T) {
	sc := newScene(t)
	a, b := sc.join("a", 4), sc.join("b", 4)
	sc.pass(2 * settled)
	session := b.Session()
	a.DeathProven(session)
	sc.pass(settled)
	b.wants(2, "it lives")
	if len(a.changes.Refuted) != 1 || a.changes.Refuted[0] != session {
		t.Errorf("refuted are %v", a.changes.Refuted)
	}
	if a.DeathProven(session) {
		t.Error("what was refuted is believed when it is said again")
	}
	b.still = true // and does not renew for a while, as with a slow hub
	sc.pass(DefaultTimings().Validity)
	b.still = false
	sc.pass(settled)
	if b.Session() != session {
		t.Error("it was fenced although it was silent for less than the takeover timeout")
	}
	b.still = true
	sc.pass(DefaultTimings().Patience + DefaultTimings().Orphan)
	a.wants(4, "it was silent for the takeover timeout")
	if sc.hub.leases[session].DeathProven || a.changes.Took[0].DeathProven {
		t.Error("the fence is said to be by proof")
	}
}

// TestAProcessThatBeginsAnotherSessionIsNotDead: the proof about its last session was false.
func TestAProcessThatBeginsAnotherSessionIsNotDead(t *testing.T) {
	sc := newScene(t)
	a, b := sc.join("a", 4), sc.join("b", 4)
	sc.pass(2 * settled)
	first := b.Session()
	b.offline = true
	a.DeathProven(first)
	sc.pass(DefaultTimings().Patience)
	a.wants(4, "it was called dead and silent")
	b.offline = false
	sc.pass(settled)
	if b.Session() == first {
		t.Fatal("it did not begin another session")
	}
	if a.DeathProven(b.Session()) {
		t.Error("a process that lives is called dead")
	}
}

// TestFenceThatTheHubLostIsDoubted: the session continues, so nothing can be taken from it.
func TestFenceThatTheHubLostIsDoubted(t *testing.T) {
	sc := newScene(t)
	a, b := sc.join("a", 4), sc.join("b", 4)
	sc.pass(2 * settled)
	session := b.Session()
	backup := sc.hub.leases[session]
	b.offline = true
	sc.pass(settled)
	a.wants(4, "the other was fenced")
	sc.hub.leases[session] = backup
	b.offline = false
	sc.pass(2 * settled)
	b.wants(2, "it is alive")
	a.wants(2, "the other is alive")
}

// TestClaimByOneWhoWasFencedIsDoubted: no session claims after it was fenced, so the hub lost the fence. The shard map
// shows it before the sessions do.
func TestClaimByOneWhoWasFencedIsDoubted(t *testing.T) {
	sc := newScene(t)
	a, b := sc.join("a", 4), sc.join("b", 4)
	sc.pass(2 * settled)
	session := b.Session()
	b.still = true
	sc.pass(settled)
	a.wants(4, "the other was fenced")
	claimed := sc.hub.ring.Ring
	claimed.Buckets = slices.Clone(claimed.Buckets)
	claimed.Sequence++
	claimed.Buckets[1] = ring.Lock{Holder: session, Number: claimed.Buckets[1].Number + 1}
	stored := sc.hub.storeRing(claimed)
	a.deaf, a.changes = true, Changes{}
	a.SawRing(a.clock(), stored)
	sc.pass(DefaultTimings().Orphan + time.Second)
	a.wants(3, "the other may be alive")
	if !a.changes.Relist {
		t.Error("the hub is not asked")
	}
	a.deaf = false
	sc.pass(DefaultTimings().Orphan + time.Second)
	a.wants(4, "the list says that it was fenced after all")
}

// TestValidityCountsFromBeforeTheRequestWasSent: a slow response grants less validity.
func TestValidityCountsFromBeforeTheRequestWasSent(t *testing.T) {
	for name, slow := range map[string]Lane{"renewal": laneSession, "read of the shard map": laneVerify} {
		t.Run(name, func(t *testing.T) {
			const took = 3 * time.Second
			sc := newScene(t)
			a := sc.join("a", 4)
			sc.pass(settled)
			var held []Request
			for len(held) == 0 {
				sc.now += tick
				requests, _ := a.Next(a.clock())
				for _, request := range requests {
					if request.Lane == slow {
						held = append(held, request)
					} else {
						a.Complete(a.clock(), request.Lane, sc.hub.do(request.Op))
					}
				}
			}
			result := sc.hub.do(held[0].Op)
			for end := sc.now + took; sc.now < end; {
				sc.now += tick
				requests, _ := a.Next(a.clock())
				for _, request := range requests {
					a.Complete(a.clock(), request.Lane, sc.hub.do(request.Op))
				}
			}
			a.Complete(a.clock(), slow, result)
			if left, most := a.Left(a.clock()), DefaultTimings().Validity-took; left != most {
				t.Errorf("%v is left, want %v", left, most)
			}
		})
	}
}
