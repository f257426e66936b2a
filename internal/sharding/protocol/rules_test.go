package protocol

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLostReplyOfARenewalIsRecognized(t *testing.T) {
	for name, carriedOut := range map[string]bool{"carried out": true, "not carried out": false} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t)
			a := sc.join("a", 4)
			sc.pass(settled)
			session, lost := a.Session(), 0
			a.spoil = func(op Op, do func() Result) Result {
				if _, renewal := op.(WriteSession); !renewal || lost > 0 {
					return do()
				}
				lost++
				if carriedOut {
					do()
				}
				return Result{Outcome: Unknown}
			}
			for range 20 * time.Second / tick {
				sc.pass(tick)
				a.wants(4, "a reply was lost, nothing else")
			}
			if lost != 1 || a.Session() != session {
				t.Errorf("%d replies lost, the session is %s, was %s", lost, a.Session(), session)
			}
		})
	}
}

func TestFencedIsFinal(t *testing.T) {
	sc := newScene(t)
	a := sc.join("a", 4)
	sc.pass(settled)
	old := a.Session()
	lease := sc.hub.leases[old].Lease
	lease.State, lease.FencedBy = Fenced, "b.1"
	sc.hub.storeLease(lease)
	a.look()
	a.wants(0, "it is fenced")
	if a.Session() == old {
		t.Fatal("it continues with the session")
	}
	a.sent = nil
	sc.pass(settled)
	for _, op := range a.sent {
		if write, is := op.(WriteSession); is && write.Lease.Session == old {
			t.Errorf("it writes the fenced Lease: %+v", write)
		}
	}
	a.wants(4, "it has a new session")
	if !a.changes.Fenced {
		t.Error("the fencing was not reported")
	}
}

func TestReleaseThatWasSentIsALoss(t *testing.T) {
	sc := newScene(t)
	a := sc.join("a", 4)
	sc.pass(settled)
	sc.join("b", 4)
	a.spoil = func(op Op, do func() Result) Result {
		if write, is := op.(WriteRing); is {
			for b, lock := range write.Ring.Buckets {
				// The bucket was yielding, but the replica could still cancel that.
				if lock.Holder == "" && a.locks[b].held {
					t.Errorf("bucket %d is being released, and still held", b)
				}
			}
			return Result{Outcome: Unknown} // and never executed
		}
		return do()
	}
	sc.pass(settled)
	a.wants(2, "it tried to give up two, and does not know what became of it")
	for _, lock := range sc.hub.ring.Ring.Buckets {
		if lock.Holder != a.Session() {
			t.Fatalf("the shard map is %+v", sc.hub.ring.Ring)
		}
	}
	a.spoil = nil
	sc.pass(settled)
	a.wants(2, "the rest went to the other")
	sc.replicas[1].wants(2, "it was given to it")
	slices.Sort(a.changes.Lost)
	if len(slices.Compact(a.changes.Lost)) != 2 {
		t.Errorf("lost are said to be %v", a.changes.Lost)
	}
}

func TestMissingLeaseBecomesATombstone(t *testing.T) {
	sc := newScene(t)
	a, b := sc.join("a", 4), sc.join("b", 4)
	sc.pass(2 * settled)
	a.wants(2, "half")
	b.wants(2, "half")
	b.still = true
	session := b.Session()
	sc.hub.deleteLease(session)
	sc.pass(DefaultTimings().Patience - time.Second)
	a.wants(2, "a missing Lease is not a free bucket")
	sc.pass(2 * time.Second)
	if lease, found := sc.hub.leases[session]; !found || lease.State != Fenced || lease.FencedBy != a.Session() {
		t.Errorf("the Lease of %s is %+v", session, lease)
	}
	sc.pass(5 * time.Second)
	a.wants(4, "the other is dead")
	b.still = false
	sc.pass(tick)
	b.wants(0, "it woke up with a session that is over")
}

func TestWatchOnlyRevokes(t *testing.T) {
	sc := newScene(t)
	a := sc.join("a", 4)
	sc.pass(settled)
	seen := *sc.hub.ring
	taken := seen.Ring
	taken.Buckets = slices.Clone(taken.Buckets)
	taken.Sequence++
	taken.Buckets[2].Holder = "b.1"
	taken.Buckets[2].Number++
	a.SawRing(a.clock(), StoredRing{Ring: taken, Version: "x"})
	if got := a.mayAct(); !slices.Equal(got, []int{0, 1, 3}) {
		t.Errorf("bucket 2 is another's, it acts on %v", got)
	}
	if c := a.Take(); !slices.Equal(c.Lost, []int{2}) {
		t.Errorf("lost is said to be %v", c.Lost)
	}
	back := taken
	back.Buckets = slices.Clone(back.Buckets)
	back.Sequence++
	back.Buckets[2].Holder = a.Session()
	back.Buckets[2].Number++
	a.SawRing(a.clock(), StoredRing{Ring: back, Version: "y"})
	if a.Holds(a.clock(), 2) {
		t.Error("a watch gave it a bucket")
	}
}

func TestRestoredRingIsRebuiltAndNobodyTakesAnythingForOnePatience(t *testing.T) {
	sc := newScene(t)
	a := sc.join("a", 4)
	sc.pass(settled)
	backup := sc.hub.image()
	b := sc.join("b", 4)
	sc.pass(settled)
	b.wants(2, "half")
	generation := sc.hub.ring.Ring.Generation
	sc.hub.ring = &StoredRing{Ring: backup.ring.Ring, Version: sc.hub.next()}
	sc.pass(DefaultTimings().Renew + tick)
	if now := sc.hub.ring.Ring; now.Generation != generation+1 || now.Rebuilt != generation+1 {
		t.Fatalf("the shard map was restored and is now %+v", now)
	}
	for range (DefaultTimings().Patience - DefaultTimings().Renew) / tick {
		a.wants(0, "the other may not know yet")
		b.wants(0, "the other may not know yet")
		sc.pass(tick)
	}
	sc.pass(settled)
	a.wants(2, "it is over")
	b.wants(2, "it is over")
}

func TestOtherSettingsWaitUntilAllOthersAreGone(t *testing.T) {
	sc := newScene(t)
	a := sc.join("a", 4)
	sc.pass(settled)
	b := sc.join("b", 6)
	sc.pass(settled)
	b.wants(0, "the shard map has four buckets")
	if problem := b.Problem(); !strings.Contains(problem, "4 buckets") || !strings.Contains(problem, "6") {
		t.Errorf("it says %q", problem)
	}
	a.wants(4, "it was here first")
	generation := sc.hub.ring.Ring.Generation
	a.Drain()
	sc.pass(settled)
	b.wants(6, "it is alone")
	if got := sc.hub.ring.Ring.Generation; got != generation+1 || !a.Drained() || b.Problem() != "" {
		t.Errorf("generation %d after %d, drained: %v, problem: %q", got, generation, a.Drained(), b.Problem())
	}
}

func TestGenerationIsRaisedAboveWhatAnObjectShows(t *testing.T) {
	sc := newScene(t)
	a := sc.join("a", 4)
	sc.pass(settled)
	a.Raise(1 + MaxRaise + 1)
	sc.pass(time.Second)
	if got := sc.hub.ring.Ring.Generation; got != 1 {
		t.Fatalf("generation %d, because of a number out of all proportion", got)
	}
	a.Raise(7)
	sc.pass(time.Second)
	token, ok := a.Enter(a.clock(), 1)
	if !ok || token.Generation != 8 {
		t.Errorf("an object shows generation 7, the next token is %+v", token)
	}
}

func TestDrainReleasesWhatIsIdleAndKeepsWhatIsBusy(t *testing.T) {
	sc := newScene(t)
	a, b := sc.join("a", 4), sc.join("b", 4)
	sc.pass(2 * settled)
	a.wants(2, "half")
	busy := a.mayAct()[0]
	token, _ := a.Enter(a.clock(), busy)
	a.Drain()
	if _, ok := a.Enter(a.clock(), busy); ok {
		t.Error("something new was begun")
	}
	if !a.Alive(a.clock(), token) || !errors.Is(a.Check(a.clock(), token), ErrYielding) {
		t.Errorf("what is under way may not end: %v", a.Check(a.clock(), token))
	}
	sc.pass(5 * time.Second)
	b.wants(3, "the idle one is free")
	if !a.Alive(a.clock(), token) || a.Drained() {
		t.Error("the busy one was given up")
	}
	a.Exit(token)
	a.Exit(token)
	sc.pass(2 * time.Second)
	b.wants(4, "both are free")
	if !a.Drained() || sc.hub.leases[token.session].Session != "" {
		t.Errorf("drained: %v, Lease: %+v", a.Drained(), sc.hub.leases[token.session])
	}
}

func TestFewBucketsAreMovedAtATime(t *testing.T) {
	sc := newScene(t)
	a := sc.join("a", 64)
	sc.pass(settled)
	a.wants(64, "it is alone")
	tokens := make([]*Token, 64)
	for b := range tokens {
		tokens[b], _ = a.Enter(a.clock(), b)
	}
	sc.join("b", 64)
	sc.pass(settled)
	a.wants(64-maxYielding, "that many are to be given up, and all are busy")
	for _, token := range tokens {
		a.Exit(token)
	}
	sc.pass(settled)
	a.wants(32, "half")
}

// TestCollectedLeaseIsDeletedOnce, also by a replica whose watch has not delivered the deletion.
func TestCollectedLeaseIsDeletedOnce(t *testing.T) {
	sc := newScene(t)
	a, b := sc.join("a", 4), sc.join("b", 4)
	sc.pass(settled)
	if !a.Leading(a.clock()) {
		a, b = b, a
	}
	session := b.Session()
	b.still = true
	sc.pass(settled)
	a.deaf, a.sent = true, nil
	sc.pass(DefaultTimings().Retention)
	deletes := 0
	for _, op := range a.sent {
		if _, is := op.(DeleteSession); is {
			deletes++
		}
	}
	if _, found := sc.hub.leases[session]; found || deletes != 1 {
		t.Errorf("the Lease is there: %v; it was deleted %d times", found, deletes)
	}
}

// To a replica whose watches and lists lag, a deleted Lease looks like one that was never renewed.
func TestLeaseThatIsFoundMissingWhenItIsFencedHasItsPatienceBeforeIt(t *testing.T) {
	sc := newScene(t)
	a, b := sc.join("a", 4), sc.join("b", 4)
	sc.pass(2 * settled)
	a.deaf = true
	sc.pass(DefaultTimings().Patience - time.Second)
	b.still = true
	sc.hub.deleteLease(b.Session())
	sc.pass(DefaultTimings().Patience + time.Second)
	a.wants(2, "it has been found missing a moment ago")
	sc.pass(DefaultTimings().Patience)
	a.wants(4, "by now it cannot act")
}

func TestReplicaWithoutMemoryNoticesARestoredRingByWhatOthersHaveSeen(t *testing.T) {
	sc := newScene(t)
	a := sc.join("a", 4)
	sc.pass(time.Second)
	old := *sc.hub.ring // no bucket has a holder
	sc.pass(settled)
	a.wants(4, "all")
	a.offline = true // it continues to act while it is valid
	sc.hub.ring = &StoredRing{Ring: old.Ring, Version: sc.hub.next()}
	b := sc.join("b", 4)
	sc.pass(DefaultTimings().Validity)
	b.wants(0, "what looks free is not")
	if now := sc.hub.ring.Ring; now.Generation <= old.Ring.Generation {
		t.Errorf("the restored shard map was not rebuilt: generation %d", now.Generation)
	}
	sc.pass(settled)
	b.wants(4, "the other has stopped")
}

// TestReplicaThatCannotClaimStarvesNobody: a replica that renews but whose shard map writes
// are lost must not block service for the buckets that others leave to it.
func TestReplicaThatCannotClaimStarvesNobody(t *testing.T) {
	sc := newScene(t)
	a := sc.join("a", 16)
	sc.pass(settled)
	b := sc.join("b", 16)
	b.spoil = func(op Op, do func() Result) Result {
		if _, is := op.(WriteRing); is {
			return Result{Outcome: Unknown}
		}
		return do()
	}
	sc.pass(2 * DefaultTimings().Settle)
	writes, away := sc.hub.ring.Ring.Sequence, 0
	for range int(10 * time.Minute / tick) {
		if len(a.mayAct()) < 8 {
			away++
		}
		sc.pass(tick)
	}
	if share := float64(away) / float64(10*time.Minute/tick); share > 0.2 {
		t.Errorf("for %.0f %% of ten minutes fewer than half of the buckets had an owner", 100*share)
	}
	if n := sc.hub.ring.Ring.Sequence - writes; n > 60 {
		t.Errorf("the shard map was written %d times in ten minutes", n)
	}
}

// TestNewsThatComeWhileTheRingIsReadAreLookedIntoAtOnce: the response in flight can be older. Without a second read, a
// replica that lost a race for the shard map during a read waits for its next one, a whole renewal interval.
func TestNewsThatComeWhileTheRingIsReadAreLookedIntoAtOnce(t *testing.T) {
	sc := newScene(t)
	a := sc.join("a", 4)
	sc.pass(settled)
	reads := func() (lane Lane, found bool) {
		requests, _ := a.Next(a.clock())
		for _, request := range requests {
			if _, found = request.Op.(ReadRing); found {
				return request.Lane, true
			}
			a.Complete(a.clock(), request.Lane, sc.hub.do(request.Op))
		}
		return 0, false
	}
	lane, found := reads()
	for ; !found; lane, found = reads() {
		sc.now += tick
	}
	answer := sc.hub.do(ReadRing{})
	a.RingGone()
	a.Complete(a.clock(), lane, answer)
	if _, again := reads(); !again {
		t.Error("the answer to an older question has answered a newer one")
	}
	if lane, again := reads(); again {
		t.Errorf("it asks on lane %d while it is asking", lane)
	}
}

// TestRestAfterARebuildBeginsWithIt: observations of a former shard map do not apply to a rebuilt one.
func TestRestAfterARebuildBeginsWithIt(t *testing.T) {
	sc := newScene(t)
	a := sc.join("a", 4)
	a.deaf = true // and so it does not see b's claims
	b := sc.join("b", 4)
	sc.pass(DefaultTimings().Patience + 500*time.Millisecond)
	b.still = true
	sc.hub.deleteRing()
	a.deaf = false
	sc.pass(DefaultTimings().Patience - time.Second)
	a.wants(0, "holders in the former shard map can still act")
}

func TestUnownedIsJudgedOnlyByOneWhoCan(t *testing.T) {
	sc := newScene(t)
	a, b := sc.join("a", 4), sc.join("b", 4)
	sc.pass(2 * settled)
	a.offline = true
	sc.pass(time.Minute)
	if n := len(a.Unowned(a.clock())); n > 0 {
		t.Errorf("a replica without the hub calls %d buckets unowned", n)
	}
	a.offline = false
	a.deaf = true
	sc.pass(5 * time.Second)
	if n := len(a.Unowned(a.clock())); n > 0 {
		t.Errorf("a replica that is back for a moment calls %d buckets unowned", n)
	}
	_ = b
}

func TestUnownedNamesWhatADeadReplicaHeldAndForHowLong(t *testing.T) {
	for story, spoilt := range map[string]func(a *actor, op Op) bool{
		"the other replica cannot take anything": func(_ *actor, op Op) bool {
			_, is := op.(WriteRing)
			return is
		},
		"the other replica cannot fence it either": func(a *actor, op Op) bool {
			if write, is := op.(WriteSession); is {
				return write.Lease.Session != a.Session()
			}
			_, is := op.(WriteRing)
			return is
		},
	} {
		t.Run(story, func(t *testing.T) {
			sc := newScene(t)
			a, b := sc.join("a", 4), sc.join("b", 4)
			sc.pass(2 * settled)
			held := b.mayAct()
			if n := len(a.Unowned(a.clock())); n != 0 || len(held) == 0 {
				t.Fatalf("%d buckets are unowned while both live, and the other holds %v", n, held)
			}
			a.spoil = func(op Op, do func() Result) Result {
				if spoilt(a, op) {
					return Result{Outcome: Refused}
				}
				return do()
			}
			b.still = true
			const longer = 30 * time.Second
			sc.pass(DefaultTimings().Patience + longer)
			unowned := a.Unowned(a.clock())
			if got := slices.Sorted(maps.Keys(unowned)); !slices.Equal(got, held) {
				t.Errorf("unowned are %v, want %v", got, held)
			}
			for bucket, since := range unowned {
				// Its silence counts from its last renewal.
				if since < longer/2 || since > DefaultTimings().Renew+DefaultTimings().Patience+longer {
					t.Errorf("bucket %d has been without an owner for %v", bucket, since)
				}
			}
			if s := a.Status(a.clock()); s.Unowned != len(held) || s.LongestUnowned < longer/2 {
				t.Errorf("metrics show %d buckets, the longest for %v", s.Unowned, s.LongestUnowned)
			}
			a.spoil = nil
			sc.pass(settled)
			if n := len(a.Unowned(a.clock())); n != 0 {
				t.Errorf("%d buckets are unowned after they were taken over", n)
			}
		})
	}
}

func TestSessionWhoseLeaseIsMissingStaysAPeer(t *testing.T) {
	sc := newScene(t)
	a, b := sc.join("a", 4), sc.join("b", 4)
	sc.pass(2 * settled)
	b.still = true
	sc.hub.deleteLease(b.Session())
	sc.pass(time.Second)
	if n := len(a.Peers()); n != 2 {
		t.Errorf("%d boards; what the other may use is given away while it may still use it", n)
	}
}

func TestNothingIsLeftToAFormerSessionOfTheSameProcess(t *testing.T) {
	sc := newScene(t)
	a := sc.join("a", 16)
	sc.pass(settled)
	a.wants(16, "it is alone")
	before := sc.hub.leases[a.Session()].Lease
	sc.hub.deleteRing()
	sc.pass(DefaultTimings().Renew)
	before.Renewals-- // like a restored hub
	sc.hub.storeLease(before)
	a.deaf = true
	sc.pass(DefaultTimings().Renew)
	if a.Session() == before.Session {
		t.Fatal("it continues with a session that is not as it left it")
	}
	a.deaf = false // only now it sees its former session
	sc.pass(DefaultTimings().Patience - DefaultTimings().Renew/2)
	a.wants(16, "it is alone")
}
