package share

import (
	"maps"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
)

var now = time.Unix(1_000_000, 0)

func TestATermThatWasLeftIsNotFollowedAgain(t *testing.T) {
	var f following
	see := func(leader string, g grants, want bool) {
		t.Helper()
		f.see(leader, encode(g))
		if got := f.leader == leader && f.grants.Term == g.Term && f.grants.Seq == g.Seq; got != want {
			t.Errorf("%s %+v is followed: %v", leader, g, got)
		}
	}
	see("a", grants{Term: 1, Seq: 5}, true)
	see("a", grants{Term: 1, Seq: 4}, false)
	see("b", grants{Term: 1, Seq: 1}, true)
	see("a", grants{Term: 1, Seq: 6}, false)
	if f.refuses != "a" || f.terms["a"] != 1 {
		t.Errorf("%+v: does not say that it refuses a", f)
	}
	see("a", grants{Term: 2, Seq: 1}, true)
	if f.refuses != "" {
		t.Errorf("still refuses %s", f.refuses)
	}
	f.see("b", "?")
	if f.leader != "a" {
		t.Error("follows what cannot be read")
	}
}

func TestALeaderBeginsAnewWhenAReplicaHasFollowedAnother(t *testing.T) {
	for name, c := range map[string]claims{
		"turned away": {Number: 2, Leader: "other", Term: 1},
		"refuses":     {Number: 2, Leader: "other", Term: 1, Refuses: "me", Refused: 3},
	} {
		p := &peer{}
		if name == "turned away" && p.see(encode(claims{Number: 1, Leader: "me", Term: 3}), "me", 3) || p.followed != (name == "turned away") {
			t.Errorf("%s: followed %v", name, p.followed)
		}
		if !p.see(encode(c), "me", 3) {
			t.Errorf("%s: the leader continues", name)
		}
	}
	p := &peer{}
	if p.see(encode(claims{Number: 1, Leader: "other", Term: 1, Refuses: "me", Refused: 2}), "me", 3) {
		t.Error("begins anew for the sake of an older term")
	}
}

func TestWhatAPeerMayBeUsing(t *testing.T) {
	p := &peer{open: map[resource]outstanding{}}
	expect := func(what string, demand, using int) {
		t.Helper()
		if d, _, u := p.tasks(vc); d != demand || u != using {
			t.Errorf("%s: demand %d, using %d; want %d, %d", what, d, u, demand, using)
		}
	}
	say := func(c claims, using int) {
		c.VCenters = map[string]usage{vc: {Demand: 9, Using: using}}
		p.see(encode(c), "me", 1)
	}
	expect("nothing said", 0, 1)
	say(claims{Number: 1}, 0)
	expect("not following", 9, 1)
	say(claims{Number: 2, Leader: "me", Term: 1, Seq: 1}, 0)
	expect("following", 9, 0)
	p.sent(2, map[string]slots{vc: {Tasks: 5}})
	p.sent(3, map[string]slots{vc: {Tasks: 2}})
	p.sent(4, map[string]slots{vc: {}})
	expect("granted more, then less", 9, 5)
	say(claims{Number: 3, Leader: "me", Term: 1, Seq: 2}, 1)
	expect("answered to the first", 9, 2)
	say(claims{Number: 4, Leader: "me", Term: 1, Seq: 4}, 1)
	expect("answered to the last", 9, 1)
	p.see("?", "me", 1)
	expect("spoiled", 0, 1)
}

func TestWhatTheLeaderGivesUpIsGrantedAtOnce(t *testing.T) {
	b := budget.New(budget.Limits{Tasks: 8, TasksPerHost: 4}, notify(func(string) {}))
	h := &holder{Resource: b}
	h.all(now)
	p := &peer{open: map[resource]outstanding{}}
	p.see(encode(claims{Number: 1, Leader: "me", Term: 1, VCenters: map[string]usage{
		vc: {Demand: 6, Loose: 3, Hosts: map[string]hostUsage{"h": {Demand: 3}}},
	}}), "me", 1)
	term := &term{number: 1, began: now.Add(-settle), peers: map[string]*peer{"other": p}}
	got := term.divide(now, "me", vc, h)
	if len(got) != 1 || got["other"].Tasks != 6 || !maps.Equal(got["other"].Hosts, map[string]int{"h": 3}) {
		t.Errorf("granted %+v, want 6 tasks, 3 of one host", got)
	}
	if u := b.Usage(); u.Using != 0 {
		t.Errorf("the leader may use %d slots, and wants none", u.Using)
	}
}

func TestWhoWasAloneKeepsNoHostThatIsNotNamed(t *testing.T) {
	b := budget.New(budget.Limits{Tasks: 8, TasksPerHost: 4}, notify(func(string) {}))
	h := &holder{Resource: b}
	h.all(now)
	b.Start("group", "h")
	h.ungranted(now)
	if h.caps.Tasks != 8 || h.caps.OtherHosts != 0 || !maps.Equal(h.caps.Hosts, map[string]int{"h": 4}) {
		t.Errorf("caps %+v", h.caps)
	}
}

func TestANewLeaderRaisesNobodyAtFirst(t *testing.T) {
	w := newWorld(t, 1, budget.Limits{Tasks: 8})
	all := w.some(2)
	w.lead(all[1])
	all[1].wants("h", 100)
	w.run(settle - time.Second)
	if all[1].held() != 0 {
		t.Errorf("%d slots are held", all[1].held())
	}
	if all[0].own[grantsKey] != "" {
		t.Error("the one before has left its grants")
	}
	w.run(2 * time.Second)
	if all[1].held() != 8 {
		t.Errorf("%d slots are held, want 8", all[1].held())
	}
}
