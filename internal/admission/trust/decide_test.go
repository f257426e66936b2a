package trust

import (
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	start  = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	limits = Limits{Settle: time.Minute, Overlap: 10 * time.Minute, Lost: time.Hour}
)

func authority(name string, from, to time.Duration) Authority {
	return Authority{Hash: name, NotBefore: start.Add(from), NotAfter: start.Add(to)}
}

func leaf(name, signer string, from, to time.Duration) *Leaf {
	return &Leaf{Fingerprint: name, Signers: []string{signer}, NotBefore: start.Add(from), NotAfter: start.Add(to)}
}

// scene is an installation that has been at rest on authority A and its leaf a, to which tests apply changes.
type scene struct {
	in     Input
	memory Memory
}

const day = 24 * time.Hour

var (
	oldCA, newCA     = authority("A", 0, 1000*day), authority("B", 90*day, 2000*day)
	oldLeaf, newLeaf = leaf("a", "A", 0, 100*day), leaf("b", "B", 90*day, 200*day)
)

func rest() *scene {
	state := State{Authorities: []Authority{oldCA}, Served: oldLeaf}
	state.note(start)
	s := &scene{in: Input{
		Now: start.Add(89 * day), Limits: limits, Stored: state, Current: []Authority{oldCA}, Offered: oldLeaf,
		Members:  []Member{{Name: "m1", Acked: BundleHash(state.Authorities), Reachable: true}},
		Replicas: []Replica{{Process: "p1", Serving: ServingLeaf(oldLeaf)}},
	}}
	for s.in.Now.Before(start.Add(90 * day)) {
		s.pass(time.Minute)
	}
	return s
}

// pass lets time pass and decides; it writes the decision.
func (s *scene) pass(by time.Duration) Decision {
	s.in.Now = s.in.Now.Add(by)
	var d Decision
	d, s.memory = Decide(s.in, s.memory)
	s.in.Stored = d.State
	return d
}

func (s *scene) renew() {
	s.in.Current, s.in.Offered = []Authority{newCA}, newLeaf
}

func (s *scene) ack(i int) { s.in.Members[i].Acked = BundleHash(s.in.Stored.Authorities) }

func serves(t *testing.T, d Decision, name string) {
	t.Helper()
	if d.State.Served == nil || d.State.Served.Fingerprint != name {
		t.Fatalf("%+v is served, want %s; waiting: %s", d.State.Served, name, d.Waiting)
	}
}

func trusts(t *testing.T, d Decision, want ...string) {
	t.Helper()
	if got := names(d.State.Authorities); !slices.Equal(got, want) {
		t.Fatalf("members trust %v, want %v", got, want)
	}
}

func TestNothingIsWrittenAtRest(t *testing.T) {
	s := rest()
	if d := s.pass(time.Minute); d.Changed || d.Switched || len(d.Behind) > 0 || d.Waiting != "" {
		t.Errorf("at rest: %+v", d)
	}
}

func TestFirstPassTakesWhatIsThere(t *testing.T) {
	d, _ := Decide(Input{Now: start, Limits: limits, Current: []Authority{oldCA}, Offered: oldLeaf}, Memory{})
	serves(t, d, "a")
	trusts(t, d, "A")
	if !d.Changed || !d.Switched {
		t.Errorf("it is not written: %+v", d)
	}
	if last := d.State.Bundles[len(d.State.Bundles)-1]; last.Hash != BundleHash([]Authority{oldCA}) {
		t.Errorf("the bundle is not remembered: %+v", d.State.Bundles)
	}
}

func TestRenewalGoesStepByStep(t *testing.T) {
	s := rest()
	s.renew()
	d := s.pass(time.Second)
	trusts(t, d, "A", "B")
	serves(t, d, "a")
	if !strings.Contains(d.Waiting, "m1") {
		t.Errorf("the waiting reason does not name member m1: %q", d.Waiting)
	}
	if len(d.Behind) != 1 || d.Behind[0].Member != "m1" || d.Behind[0].Broken || !d.Behind[0].Since.Equal(s.in.Now) {
		t.Errorf("behind: %+v", d.Behind)
	}
	serves(t, s.pass(time.Hour), "a")
	s.ack(0)
	d = s.pass(time.Second)
	serves(t, d, "a") // not settled
	if len(d.Behind) != 0 || !d.Next.Equal(s.in.Now.Add(limits.Settle)) {
		t.Errorf("behind %v, next %s", d.Behind, d.Next)
	}
	serves(t, s.pass(limits.Settle-time.Second), "a")
	d = s.pass(time.Second)
	serves(t, d, "b")
	if !d.Switched || len(d.Forced) > 0 {
		t.Errorf("switched %t, forced %v", d.Switched, d.Forced)
	}
	for range 70 { // the replica still serves the old one
		trusts(t, s.pass(time.Minute), "A", "B")
	}
	s.in.Replicas[0].Serving = ServingLeaf(newLeaf)
	for range 10 {
		trusts(t, s.pass(time.Minute), "A", "B")
	}
	d = s.pass(time.Minute)
	trusts(t, d, "B")
	if !slices.Equal(d.Pruned, []string{"A"}) {
		t.Errorf("pruned %v", d.Pruned)
	}
	if d = s.pass(time.Minute); len(d.Behind) > 0 {
		t.Errorf("who still trusts the old authority too is not behind: %+v", d.Behind)
	}
}

func TestAMemberThatIsAwayDelaysTheSwitchAndIsGivenUpInTheLastThird(t *testing.T) {
	s := rest()
	s.in.Members = append(s.in.Members, Member{Name: "m2", Acked: s.in.Members[0].Acked})
	s.renew()
	d := s.pass(0)
	s.ack(0)
	began := s.in.Now
	for s.in.Now.Before(start.Add(90*day + 10*day*2/3 - time.Minute)) {
		d = s.pass(time.Minute)
		serves(t, d, "a")
	}
	if !strings.Contains(d.Waiting, "m2") || strings.Contains(d.Waiting, "m1") {
		t.Errorf("waiting: %q", d.Waiting)
	}
	if len(d.Behind) != 1 || d.Behind[0].Member != "m2" || !d.Behind[0].Since.Equal(began) {
		t.Errorf("behind: %+v, want m2 since %s", d.Behind, began)
	}
	for range 3 {
		if d = s.pass(time.Minute); d.Switched {
			break
		}
	}
	serves(t, d, "b")
	if !slices.Equal(d.Forced, []string{"m2"}) || !d.Behind[0].Broken {
		t.Errorf("forced %v, behind %+v", d.Forced, d.Behind)
	}
	s.in.Members[1].Reachable = true
	s.ack(1)
	if d = s.pass(time.Minute); len(d.Behind) > 0 {
		t.Errorf("it came back: %+v", d.Behind)
	}
}

func TestAfterASleepMembersGetAChance(t *testing.T) {
	s := rest()
	s.renew()
	s.in.Now = start.Add(98 * day) // nothing ran for a week; the last third has begun
	serves(t, s.pass(0), "a")
	s.ack(0)
	for range 3 {
		s.pass(limits.Settle / 2)
	}
	d := s.pass(0)
	serves(t, d, "b")
	if len(d.Forced) > 0 {
		t.Errorf("%v were not given a chance", d.Forced)
	}
}

func TestWhoIsWaitedFor(t *testing.T) {
	for _, test := range []struct {
		name   string
		member Member
		waits  bool
	}{
		{"a member that answers and has no webhook yet: an older bundle may be on its way", Member{Reachable: true}, true},
		{"a member that does not answer and never had one: nothing there can fail", Member{}, false},
		{"a bundle that is not in State.Bundles", Member{Acked: "0123", Reachable: true}, true},
		{"the old bundle", Member{Acked: BundleHash([]Authority{oldCA})}, true},
		{"old and new", Member{Acked: BundleHash([]Authority{newCA, oldCA})}, false},
		{"neither: it fails already", Member{Acked: BundleHash([]Authority{authority("C", 0, 2000*day)})}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := rest()
			other := State{Authorities: []Authority{authority("C", 0, 2000*day)}}
			other.note(start)
			s.in.Stored.Bundles = append(other.Bundles, s.in.Stored.Bundles...)
			s.in.Members[0] = test.member
			s.in.Members[0].Name = "m1"
			s.renew()
			s.pass(time.Minute)
			s.pass(limits.Settle)
			d := s.pass(limits.Settle)
			if waits := d.State.Served.Fingerprint == "a"; waits != test.waits {
				t.Errorf("waits: %t, want %t (%s)", waits, test.waits, d.Waiting)
			}
		})
	}
}

func TestWhichLeafIsServed(t *testing.T) {
	for _, test := range []struct {
		name            string
		served, offered *Leaf
		at              time.Duration
		want            string
	}{
		{"another one of the same authority", oldLeaf, leaf("a2", "A", 89*day, 190*day), 91 * day, "a2"},
		{"an older one, from a replica whose files lag", leaf("a2", "A", 50*day, 150*day), oldLeaf, 91 * day, "a2"},
		{"one by an unknown authority", oldLeaf, leaf("x", "X", 90*day, 200*day), 91 * day, "a"},
		{"one by an unknown authority, the other expired", oldLeaf, leaf("x", "X", 90*day, 200*day), 101 * day, "x"},
		{"both expired", oldLeaf, leaf("a0", "A", -90*day, 99*day), 101 * day, "a"},
		{"one that is not valid yet", oldLeaf, leaf("later", "A", 95*day, 200*day), 91 * day, "a"},
		{"the served one expired, no member acknowledged", oldLeaf, newLeaf, 101 * day, "b"},
		{"none in the files", oldLeaf, nil, 91 * day, "a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := rest()
			s.in.Stored.Served, s.in.Offered = test.served, test.offered
			s.in.Current = []Authority{oldCA, newCA}
			s.in.Now = start.Add(test.at)
			s.pass(0)
			if !strings.HasPrefix(test.want, "a2") {
				serves(t, s.pass(limits.Settle*2), test.want)
				return
			}
			s.ack(0)
			s.pass(time.Second)
			serves(t, s.pass(limits.Settle*2), test.want)
		})
	}
}

func TestAnExpiredAuthorityIsNeverKept(t *testing.T) {
	s := rest()
	short := authority("S", 0, 91*day)
	s.in.Stored.Authorities = append(s.in.Stored.Authorities, short)
	s.in.Current = append(s.in.Current, short)
	if d := s.pass(0); !slices.Contains(names(d.State.Authorities), "S") || d.Next.After(start.Add(91*day)) {
		t.Errorf("trusts %v, looks again at %s", names(d.State.Authorities), d.Next)
	}
	s.in.Now = start.Add(91 * day)
	trusts(t, s.pass(0), "A")
}

func TestAReplicaThatVanishedIsWaitedFor(t *testing.T) {
	s := rest()
	s.in.Replicas = append(s.in.Replicas, Replica{Process: "p2", Serving: ServingLeaf(oldLeaf)})
	s.pass(time.Minute)
	s.renew()
	s.pass(0)
	s.ack(0)
	s.pass(time.Minute)
	serves(t, s.pass(time.Minute), "b")
	s.in.Replicas = []Replica{{Process: "p1", Serving: ServingLeaf(newLeaf)}}
	vanished := s.in.Now
	for s.in.Now.Before(vanished.Add(limits.Lost - time.Minute)) {
		trusts(t, s.pass(time.Minute), "A", "B")
	}
	trusts(t, s.pass(time.Minute), "B")
}

// switched is a scene in which the new leaf has just been chosen and a replica that served the old one is cut off.
func switched(t *testing.T) *scene {
	t.Helper()
	s := rest()
	s.renew()
	s.pass(0)
	s.ack(0)
	s.pass(time.Minute)
	serves(t, s.pass(time.Minute), "b")
	s.in.Replicas = []Replica{{Process: "p1", Serving: ServingLeaf(newLeaf)}}
	return s
}

func TestANewProcessWaitsForThoseThatItNeverSaw(t *testing.T) {
	s := switched(t)
	s.memory = Memory{}
	began := s.in.Now.Add(time.Minute)
	for s.in.Now.Before(began.Add(limits.Lost - time.Minute)) {
		trusts(t, s.pass(time.Minute), "A", "B")
	}
	trusts(t, s.pass(time.Minute), "B")
}

func TestASleepProvesNothingOfOthers(t *testing.T) {
	s := switched(t)
	s.in.Replicas = append(s.in.Replicas, Replica{Process: "p2", Serving: ServingLeaf(oldLeaf)})
	s.pass(time.Minute)
	s.in.Replicas = s.in.Replicas[:1]
	last := s.in.Now
	d := s.pass(limits.Lost + time.Hour) // the process itself was stopped
	for slept := s.in.Now.Sub(last); s.in.Now.Before(last.Add(slept + limits.Lost - 2*time.Minute)); d = s.pass(time.Minute) {
		trusts(t, d, "A", "B")
	}
	s.pass(time.Minute)
	s.pass(time.Minute)
	trusts(t, s.pass(time.Minute), "B")
}

func TestWhatOthersServedIsForgottenInASleep(t *testing.T) {
	s := switched(t)
	// A replica that was seen with a leaf of an unaffected authority can have served another one since.
	s.in.Replicas = append(s.in.Replicas, Replica{Process: "p2", Serving: Serving{Leaf: "c", Authority: "C"}})
	s.pass(time.Minute)
	s.in.Replicas = s.in.Replicas[:1]
	s.pass(time.Hour)
	for range 50 {
		trusts(t, s.pass(time.Minute), "A", "B")
	}
}

func TestAReplicaThatSaysNothingIsWaitedFor(t *testing.T) {
	s := rest()
	s.renew()
	s.pass(0)
	s.ack(0)
	s.pass(time.Minute)
	serves(t, s.pass(time.Minute), "b")
	s.in.Replicas = []Replica{{Process: "p1", Serving: ServingLeaf(newLeaf)}, {Process: "p2"}}
	for range 200 {
		trusts(t, s.pass(time.Minute), "A", "B")
	}
	s.in.Replicas[1].Serving = ServingNothing // it has no certificate: it cannot answer with an old one
	for range 11 {
		s.pass(time.Minute)
	}
	trusts(t, s.pass(0), "B")
}

func TestDecideChangesNothingOfItsInput(t *testing.T) {
	s := rest()
	s.renew()
	before := s.in.Stored
	memory := s.memory
	s.in.Now = s.in.Now.Add(time.Minute)
	first, _ := Decide(s.in, s.memory)
	second, _ := Decide(s.in, memory)
	if !before.same(s.in.Stored) || len(first.State.Bundles) != len(second.State.Bundles) || first.Waiting != second.Waiting {
		t.Errorf("two calls with the same input differ: %+v and %+v", first, second)
	}
}

func TestBundlesAreBounded(t *testing.T) {
	s := State{}
	for i := range 100 {
		s.Authorities = []Authority{authority(strings.Repeat("x", i+1), 0, day)}
		s.note(start.Add(time.Duration(i)))
	}
	if len(s.Bundles) != maxBundles || s.Bundles[maxBundles-1].Hash != BundleHash(s.Authorities) {
		t.Errorf("%d bundles are kept", len(s.Bundles))
	}
}
