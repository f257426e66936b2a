package budget

import (
	"maps"
	"testing"
)

func TestCapsBoundBesideTheLimits(t *testing.T) {
	r := newRig(t, Limits{Tasks: 8, TasksPerHost: 4})
	r.SetCaps(Caps{Tasks: 3, OtherHosts: -1})
	r.asks("a", "", 9, 3)
	r.SetCaps(Caps{Tasks: 20, Hosts: map[string]int{"h": 2, "i": 9}, OtherHosts: 1})
	for host, want := range map[string]int{"h": 2, "i": 4, "j": 1} {
		r.Forget("a")
		r.asks("a", host, 9, want)
	}
	r.SetCaps(NoCaps)
	r.Forget("a")
	r.asks("a", "", 9, 8)
}

func TestCapsOfHostsNeedALimitOfHosts(t *testing.T) {
	r := newRig(t, Limits{Tasks: 8})
	r.SetCaps(Caps{Tasks: 8})
	r.asks("a", "h", 9, 8)
}

func TestLowerCapsTakeNothingAway(t *testing.T) {
	r := newRig(t, Limits{Tasks: 8})
	ends := r.start("a", "", 4)
	r.SetCaps(Caps{Tasks: 2})
	if u := r.Usage(); u.Held != 4 || u.Using != 4 {
		t.Errorf("%+v: want 4 held and in use", u)
	}
	r.asks("b", "", 1, 0)
	for _, end := range ends[:2] {
		end(true)
		r.told()
	}
	ends[2](true)
	r.told("b")
	if u := r.Usage(); u.Held != 1 || u.Using != 2 {
		t.Errorf("%+v: want 1 held and 2 in use", u)
	}
}

func TestARaisedCapIsOffered(t *testing.T) {
	r := newRig(t, Limits{Tasks: 8, TasksPerHost: 4})
	r.SetCaps(Caps{})
	r.asks("a", "h", 2, 0)
	r.SetCaps(Caps{Tasks: 2})
	r.told() // its host is not free yet
	hosts := map[string]int{"h": 1}
	r.SetCaps(Caps{Tasks: 2, Hosts: hosts})
	r.told("a")
	hosts["h"] = 4 // the budget keeps a copy
	r.asks("a", "h", 2, 1)
}

func TestNoHeadroomWhereTheCapFollowsTheDemand(t *testing.T) {
	r := newRig(t, Limits{Tasks: 8, TasksPerHost: 8})
	r.asks("other", "", 0, 0)
	r.SetCaps(Caps{Tasks: 5, Hosts: map[string]int{"h": 5}})
	r.start("a", "h", 1)
	r.start("a", "h", 4) // the fifth is no headroom: no other group here wants more
}

func TestHeadroomOfACapThatIsNotEnough(t *testing.T) {
	r := newRig(t, Limits{Tasks: 8})
	r.asks("other", "", 0, 0)
	r.SetCaps(Caps{Tasks: 5})
	r.start("a", "h", 1)
	r.asks("a", "h", 40, 3)
	r.start("b", "h", 1)
	r.Forget("a")
	r.Forget("b")
	r.SetCaps(Caps{Tasks: 3}) // too few to keep one
	r.asks("a", "h", 40, 1)
}

func TestHeadroomOfAHostsCap(t *testing.T) {
	r := newRig(t, Limits{Tasks: 64, TasksPerHost: 8})
	r.asks("other", "", 0, 0)
	r.SetCaps(Caps{Tasks: 64, Hosts: map[string]int{"h": 4, "i": 4}})
	r.start("a", "h", 1)
	r.asks("a", "h", 40, 2)
	r.start("b", "i", 1)
	r.asks("b", "i", 3, 3)
}

func TestUsage(t *testing.T) {
	r := newRig(t, Limits{Tasks: 8, TasksPerHost: 4})
	r.start("a", "h", 2)
	r.start("a", "", 1)
	r.SetCaps(Caps{})
	r.asks("a", "h", 40, 0)
	r.asks("a", "i", 3, 0)
	r.asks("b", "", 2, 0)
	r.SetCaps(NoCaps)
	want := map[string]HostUsage{"h": {Demand: 4, Held: 2, Using: 4}, "i": {Demand: 3, Using: 4}}
	if u := r.Usage(); u.Demand != 10 || u.Loose != 3 || u.Held != 3 || u.Using != 8 || !maps.Equal(u.Hosts, want) {
		t.Errorf("%+v: want a demand of 4, 3 and 3 that are no clones", u)
	}
	r.SetCaps(Caps{Tasks: 3, Hosts: map[string]int{"h": 1, "k": 1, "l": 0}})
	want = map[string]HostUsage{"h": {Demand: 4, Held: 2, Using: 2}, "i": {Demand: 3}, "k": {Using: 1}}
	if u := r.Usage(); u.Demand != 10 || u.Using != 3 || !maps.Equal(u.Hosts, want) {
		t.Errorf("%+v: want %v", u, want)
	}
}

func TestUsageOfAGroupThatStartsSlowly(t *testing.T) {
	r := newRig(t, Limits{Tasks: 8, TasksPerHost: 4})
	r.start("a", "h", 1)[0](false)
	r.SetCaps(Caps{})
	r.asks("a", "h", 40, 0)
	r.asks("a", "i", 40, 0)
	if u := r.Usage(); u.Demand != 1 {
		t.Errorf("%+v: want a demand of 1", u)
	}
}

// sharer is a Sharer.
type sharer func()

func (s sharer) Changed() { s() }

func TestUsageIsToldOnceUntilItIsLookedAt(t *testing.T) {
	r := newRig(t, Limits{Tasks: 4})
	told := 0
	r.OnUsage(sharer(func() {
		told++
		r.Demand() // no lock is held
	}))
	check := func(what string, want int) {
		t.Helper()
		if told != want {
			t.Errorf("%s: notified %d times, want %d", what, told, want)
		}
		told = 0
	}
	ends := r.start("a", "", 3)
	check("three slots", 1)
	ends[0](true)
	check("not read", 0)
	r.Usage()
	ends[1](true)
	check("an end", 1)
	r.Usage()
	r.asks("b", "", 9, 3)
	r.Usage()
	told = 0
	r.SetCaps(Caps{Tasks: 1})
	check("caps", 0)
	r.asks("b", "", 9, 0)
	r.Usage()
	told = 0
	r.asks("b", "", 9, 0)
	check("the same again", 0)
	r.asks("b", "", 8, 0)
	check("less", 1)
	r.Usage()
	r.asks("b", "", 0, 0)
	check("nothing more", 1)
	r.Usage()
	r.SetLimits(Limits{Tasks: 9})
	check("limits", 1)
}

func TestUsageIsToldWhenADemandLapses(t *testing.T) {
	r := newRig(t, Limits{Tasks: 1})
	end := r.start("x", "", 1)[0]
	r.asks("a", "", 1, 0)
	end(true)
	r.Usage()
	told := 0
	r.OnUsage(sharer(func() { told++ }))
	r.clock.advance(ClaimWindow)
	if u := r.Usage(); told != 1 || u.Demand != 0 {
		t.Errorf("notified %d times, %+v; want once, and no demand", told, u)
	}
}
