package budget

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAllocate(t *testing.T) {
	one := func(group string, since uint64, held int, host string, count int) waiter {
		return waiter{group: group, since: since, held: held, wants: []want{{host: host, count: count}}}
	}
	of := func(member tenant, w waiter) waiter {
		w.member = member
		return w
	}
	rich, poor := tenant{"rich", 5, 1}, tenant{"poor", 1, 2}
	for _, tc := range []struct {
		name string
		s    snapshot
		want string
	}{
		{"no group waits", snapshot{limits: Limits{8, 4}}, ""},
		{"alone gets all", snapshot{limits: Limits{8, 0}, waiters: []waiter{one("a", 1, 0, "h", 9)}}, "a/h=8"},
		{"no more than wanted", snapshot{limits: Limits{8, 4}, waiters: []waiter{one("a", 1, 0, "h", 2)}}, "a/h=2"},
		{"the host's limit", snapshot{limits: Limits{8, 4}, heldOnHost: map[string]int{"h": 1}, held: 1,
			waiters: []waiter{one("a", 1, 0, "h", 9)}}, "a/h=3"},
		{"the host's limit is not for tasks without host", snapshot{limits: Limits{8, 4},
			waiters: []waiter{one("a", 1, 0, "", 9)}}, "a/=8"},
		{"nothing over the limit", snapshot{limits: Limits{2, 0}, held: 5,
			waiters: []waiter{one("a", 1, 0, "", 9)}}, ""},
		{"a host over its limit", snapshot{limits: Limits{8, 1}, held: 3, heldOnHost: map[string]int{"h": 3},
			waiters: []waiter{one("a", 1, 0, "h", 9)}}, ""},
		{"no tasks at all", snapshot{waiters: []waiter{one("a", 1, 0, "", 9)}}, ""},
		{"a giant and dwarfs", snapshot{limits: Limits{8, 0}, waiters: []waiter{
			one("giant", 1, 0, "h", 48), one("b", 2, 0, "h", 1), one("c", 3, 0, "h", 1)}}, "giant/h=6 b/h=1 c/h=1"},
		{"the fewest first", snapshot{limits: Limits{8, 0}, held: 7, waiters: []waiter{
			one("giant", 1, 7, "h", 40), one("b", 9, 0, "h", 1)}}, "b/h=1"},
		{"equals: the longest waiting first", snapshot{limits: Limits{1, 0}, waiters: []waiter{
			one("a", 5, 0, "h", 1), one("b", 4, 0, "h", 1)}}, "b/h=1"},
		{"a full host blocks only those who want it", snapshot{limits: Limits{8, 1}, held: 1,
			heldOnHost: map[string]int{"h": 1}, waiters: []waiter{one("a", 1, 0, "h", 3), one("b", 2, 1, "i", 3)}}, "b/i=1"},
		{"a window", snapshot{limits: Limits{8, 0}, held: 1, waiters: []waiter{
			{group: "a", held: 1, window: 2, wants: []want{{host: "h", count: 9}}}}}, "a/h=1"},
		{"a full window blocks only its group", snapshot{limits: Limits{8, 0}, held: 1, waiters: []waiter{
			{group: "a", held: 1, window: 1, wants: []want{{count: 9}}}, one("b", 9, 3, "", 1)}}, "b/=1"},
		{"the older want of a group first", snapshot{limits: Limits{1, 0}, waiters: []waiter{
			{group: "a", wants: []want{{host: "h", count: 1, since: 4}, {host: "i", count: 1, since: 3}}}}}, "a/i=1"},
		{"a VM is finished before another is begun", snapshot{limits: Limits{1, 0}, waiters: []waiter{
			{group: "a", wants: []want{{host: "h", count: 1, since: 3}, {count: 1, since: 4}}}}}, "a/=1"},
		{"moves to leave the only host to another", snapshot{limits: Limits{2, 1}, waiters: []waiter{
			{group: "a", since: 1, wants: []want{{"h", 1, 1}, {"i", 1, 2}}}, one("b", 2, 0, "h", 1)}}, "a/i=1 b/h=1"},
		{"moves along a chain", snapshot{limits: Limits{3, 1}, waiters: []waiter{
			{group: "a", since: 1, wants: []want{{"h", 1, 1}, {"i", 1, 2}}},
			{group: "b", since: 2, wants: []want{{"i", 1, 1}, {"j", 1, 2}}},
			one("c", 3, 0, "h", 1)}}, "a/i=1 b/j=1 c/h=1"},
		{"moves twice on one host", snapshot{limits: Limits{3, 1}, waiters: []waiter{
			{group: "a", since: 1, wants: []want{{"h", 1, 1}, {"i", 1, 2}}},
			{group: "b", since: 2, wants: []want{{"h", 1, 1}, {"j", 1, 2}}},
			one("c", 3, 0, "h", 1)}}, "a/i=1 b/j=1 c/h=1"},
		{"headroom is not for who has something", snapshot{limits: Limits{8, 0}, held: 5, keep: 1, waiters: []waiter{
			one("giant", 1, 5, "h", 40)}}, "giant/h=2"},
		{"headroom is for who has nothing", snapshot{limits: Limits{8, 0}, held: 7, keep: 1, waiters: []waiter{
			one("giant", 1, 7, "h", 40), one("b", 2, 0, "h", 3)}}, "b/h=1"},
		{"a newcomer gets one slot of the headroom", snapshot{limits: Limits{8, 0}, held: 6, keep: 2, waiters: []waiter{
			one("giant", 1, 6, "h", 40), one("b", 2, 0, "h", 3)}}, "b/h=1"},
		{"headroom is not for clones only", snapshot{limits: Limits{8, 4}, held: 5, keep: 1, keepOnHost: 1, waiters: []waiter{
			one("giant", 1, 5, "", 40)}}, "giant/=3"},
		{"headroom on a host", snapshot{limits: Limits{16, 4}, keepOnHost: 1, waiters: []waiter{
			one("giant", 1, 0, "h", 40)}}, "giant/h=3"},
		{"headroom on a host is for who has nothing", snapshot{limits: Limits{16, 4}, held: 3, keepOnHost: 1,
			heldOnHost: map[string]int{"h": 3}, waiters: []waiter{
				one("giant", 1, 3, "h", 40), one("b", 2, 0, "h", 2)}}, "b/h=1"},
		{"a newcomer does not take the headroom of a host from another", snapshot{limits: Limits{16, 1}, keepOnHost: 1,
			waiters: []waiter{{group: "a", since: 1, wants: []want{{"h", 1, 1}, {"i", 1, 2}}},
				one("b", 2, 0, "h", 1), one("c", 3, 0, "h", 1), one("d", 4, 0, "i", 1)}}, "a/i=1 b/h=1"},
		{"the poorer member first", snapshot{limits: Limits{8, 0}, held: 6, waiters: []waiter{
			of(rich, one("a", 1, 0, "h", 1)), of(poor, one("b", 2, 1, "h", 3))}}, "b/h=2"},
		{"members that have the same take turns", snapshot{limits: Limits{9, 0}, held: 2, waiters: []waiter{
			of(tenant{"m", 1, 1}, one("a", 9, 0, "h", 1)), of(tenant{"m", 1, 1}, one("b", 8, 0, "h", 1)), of(tenant{"m", 1, 1}, one("c", 7, 0, "h", 1)),
			of(tenant{"n", 1, 2}, one("d", 6, 1, "h", 9))}}, "c/h=1 b/h=1 a/h=1 d/h=4"},
		{"what one member does not want another gets", snapshot{limits: Limits{8, 0}, held: 1, waiters: []waiter{
			of(poor, one("b", 2, 1, "h", 2)), of(tenant{"m", 0, 3}, one("c", 3, 0, "h", 9))}}, "c/h=5 b/h=2"},
		{"a host that is full for one member is so for all", snapshot{limits: Limits{8, 1}, held: 6, heldOnHost: map[string]int{"h": 1}, waiters: []waiter{
			of(poor, one("b", 2, 0, "h", 2)), of(rich, one("a", 3, 0, "i", 9))}}, "a/i=1"},
		{"headroom is for newcomers of a richer member", snapshot{limits: Limits{8, 0}, held: 7, keep: 1, waiters: []waiter{
			of(rich, one("a", 1, 0, "h", 1)), of(poor, one("b", 2, 1, "h", 3))}}, "a/h=1"},
		{"headroom is owed to a member that would stay behind", snapshot{limits: Limits{8, 0}, held: 7, keep: 1, owed: 2, waiters: []waiter{
			of(rich, one("a", 1, 0, "h", 1)), of(poor, one("b", 2, 1, "h", 3))}}, "b/h=1"},
		{"no more of it than owed", snapshot{limits: Limits{8, 0}, held: 6, keep: 2, owed: 2, waiters: []waiter{
			of(rich, one("a", 1, 5, "h", 1)), of(poor, one("b", 2, 1, "h", 3))}}, "b/h=1"},
		{"headroom of a host is owed", snapshot{limits: Limits{64, 8}, held: 7, heldOnHost: map[string]int{"h": 7}, keepOnHost: 1,
			owedOnHost: map[string]int{"h": 2}, waiters: []waiter{
				of(rich, one("a", 1, 0, "h", 1)), of(poor, one("b", 2, 1, "h", 3))}}, "b/h=1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := text(allocate(tc.s)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestAllocateIsOptimal compares with every other possible result.
func TestAllocateIsOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		shares := allocate(s)
		given := matrix(s, shares)
		if !s.allows(given) {
			t.Fatalf("%+v exceeds a limit: %s", s, text(shares))
		}
		best := s.outcome(given)
		forEach(s, func(other map[slot]int) {
			if slices.Compare(s.outcome(other), best) > 0 {
				t.Fatalf("%+v\ngot    %s: slots held %v\nbetter %v: %v", s, text(shares), best, other, s.outcome(other))
			}
		})
	})
}

// TestAllocateWithHeadroom compares with three rounds without headroom: first slots, slots that leave the
// headroom, and tasks that are no clones.
func TestAllocateWithHeadroom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		s.keep, s.keepOnHost = rapid.IntRange(0, 3).Draw(t, "keep"), rapid.IntRange(0, 2).Draw(t, "keep on host")
		s.limits.TasksPerHost += rapid.IntRange(0, 3).Draw(t, "more per host")
		given := matrix(s, allocate(s))
		if !s.allows(given) {
			t.Fatalf("%+v exceeds a limit: %v", s, given)
		}
		first := s.play(s.limits, func(w *waiter, _ *want) bool {
			w.window = 1
			return w.held == 0
		})
		kept := Limits{Tasks: s.limits.Tasks - s.keep}
		if s.limits.TasksPerHost > 0 {
			// A limit of 0 means unlimited; a used-up limit must not become 0.
			kept.TasksPerHost = max(1, s.limits.TasksPerHost-s.keepOnHost)
		}
		second := s.after(first).play(kept, func(_ *waiter, w *want) bool {
			return s.limits.TasksPerHost == 0 || w.host == "" || s.keepOnHost < s.limits.TasksPerHost
		})
		third := s.after(first).after(second).play(s.limits, func(_ *waiter, w *want) bool { return w.host == "" })
		want := matrix(s, nil)
		for _, round := range []map[slot]int{first, second, third} {
			for k, n := range round {
				want[k] += n
			}
		}
		got, rounds := s.outcome(given), s.outcome(want)
		if slices.Compare(got, rounds) < 0 {
			t.Fatalf("%+v\ngot %v: slots held %v\nthree rounds %v: %v", s, given, got, want, rounds)
		}
		// In a single deal, first slots can move to hosts that others cannot use: a choice of hosts can improve
		// the result.
		if s.oneHostEach() && !maps.Equal(given, want) {
			t.Fatalf("%+v\ngot %v\nthree rounds %v", s, given, want)
		}
	})
}

// play allocates without headroom, within other limits, the demand that pick allows waiters. pick can change its
// waiter.
func (s snapshot) play(limits Limits, pick func(*waiter, *want) bool) map[slot]int {
	s.limits, s.keep, s.keepOnHost = limits, 0, 0
	var waiters []waiter
	for _, w := range s.waiters {
		var wants []want
		for _, d := range w.wants {
			if d.count > 0 && pick(&w, &d) {
				wants = append(wants, d)
			}
		}
		if w.wants = wants; len(wants) > 0 {
			waiters = append(waiters, w)
		}
	}
	s.waiters = waiters
	return matrix(s, allocate(s))
}

// after is the snapshot after the granted slots are held.
func (s snapshot) after(given map[slot]int) snapshot {
	s.heldOnHost, s.waiters = maps.Clone(s.heldOnHost), slices.Clone(s.waiters)
	for i := range s.waiters {
		w := &s.waiters[i]
		w.wants = slices.Clone(w.wants)
		for j := range w.wants {
			n := given[slot{w.group, w.wants[j].host}]
			w.wants[j].count -= n
			w.held += n
			s.held += n
			s.heldOnHost[w.wants[j].host] += n
		}
	}
	return s
}

// oneHostEach is true when no waiter can take a slot on another host instead.
func (s snapshot) oneHostEach() bool {
	return !slices.ContainsFunc(s.waiters, func(w waiter) bool { return len(w.wants) > 1 })
}

func TestAllocateDependsOnNoOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		s.drawMembers(t)
		s.keep, s.owed = rapid.IntRange(0, 3).Draw(t, "keep"), rapid.IntRange(0, 3).Draw(t, "owed")
		before := text(allocate(s))
		s.waiters = rapid.Permutation(s.waiters).Draw(t, "waiters")
		for i := range s.waiters {
			s.waiters[i].wants = rapid.Permutation(s.waiters[i].wants).Draw(t, "wants")
		}
		if after := text(allocate(s)); after != before {
			t.Fatalf("%q, and in another order %q", before, after)
		}
	})
}

// TestAllocateDoesNotEnvy holds for many groups, where trying all results is impossible. With one host each, no
// group that wants more has two slots fewer than one that got a slot of the same kind.
func TestAllocateDoesNotEnvy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := snapshot{limits: Limits{rapid.IntRange(0, 60).Draw(t, "tasks"), rapid.IntRange(0, 20).Draw(t, "per host")}}
		for i := range rapid.IntRange(0, 100).Draw(t, "groups") {
			host := rapid.SampledFrom([]string{"", "h", "i", "j"}).Draw(t, "host")
			s.waiters = append(s.waiters, waiter{group: fmt.Sprint(i), since: uint64(i),
				wants: []want{{host: host, count: rapid.IntRange(1, 50).Draw(t, "count")}}})
		}
		given := matrix(s, allocate(s))
		for _, poor := range s.waiters {
			w := poor.wants[0]
			got := given[slot{poor.group, w.host}]
			for k, n := range given {
				if got < w.count && k.host == w.host && n > got+1 {
					t.Fatalf("%s has %d of %d on %q and %s has %d", poor.group, got, w.count, w.host, k.group, n)
				}
			}
		}
	})
}

// TestAllocateIsFairBetweenMembers compares with every other possible result where every slot suits every group:
// first the slots of members, then those of each member's groups.
func TestAllocateIsFairBetweenMembers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		s.limits.TasksPerHost = 0
		s.drawMembers(t)
		given := matrix(s, allocate(s))
		best, groups := s.members(given), s.outcomeOfEach(given)
		forEach(s, func(other map[slot]int) {
			members := s.members(other)
			switch c := slices.Compare(sortedValues(members), sortedValues(best)); {
			case c > 0:
				t.Fatalf("%+v\ngot %v: members have %v\nbetter %v: %v", s, given, best, other, members)
			case !maps.Equal(members, best):
				return
			}
			for member, held := range s.outcomeOfEach(other) {
				if slices.Compare(held, groups[member]) > 0 {
					t.Fatalf("%+v\ngot %v: groups of %s have %v\nbetter %v: %v", s, given, member, groups[member], other, held)
				}
			}
		})
	})
}

// drawMembers assigns each waiter to one of two members. A member holds the slots of its waiters, and possibly more.
func (s *snapshot) drawMembers(t *rapid.T) {
	members := map[string]*tenant{}
	for _, name := range []string{"m", "n"} {
		more := rapid.IntRange(0, 2).Draw(t, "held by others of "+name)
		members[name] = &tenant{name, more, rapid.Uint64Range(0, 1).Draw(t, "since of "+name)}
		s.held += more
		s.limits.Tasks += more
	}
	names := make([]string, len(s.waiters))
	for i, w := range s.waiters {
		names[i] = rapid.SampledFrom([]string{"m", "n"}).Draw(t, "member")
		members[names[i]].held += w.held
	}
	for i := range s.waiters {
		s.waiters[i].member = *members[names[i]]
	}
}

// members is the number of slots that each member of a waiter would hold.
func (s snapshot) members(given map[slot]int) map[string]int {
	all := map[string]int{}
	for _, w := range s.waiters {
		all[w.member.name] = w.member.held
	}
	for _, w := range s.waiters {
		for _, d := range w.wants {
			all[w.member.name] += given[slot{w.group, d.host}]
		}
	}
	return all
}

// outcomeOfEach is the outcome of the groups of each member.
func (s snapshot) outcomeOfEach(given map[slot]int) map[string][]int {
	all := map[string][]int{}
	for _, w := range s.waiters {
		all[w.member.name] = append(all[w.member.name], snapshot{waiters: []waiter{w}}.outcome(given)...)
	}
	for _, held := range all {
		slices.Sort(held)
	}
	return all
}

func sortedValues(m map[string]int) []int { return slices.Sorted(maps.Values(m)) }

func drawSnapshot(t *rapid.T) snapshot {
	s := snapshot{
		limits:     Limits{Tasks: rapid.IntRange(0, 7).Draw(t, "tasks"), TasksPerHost: rapid.IntRange(0, 2).Draw(t, "per host")},
		heldOnHost: map[string]int{"h": rapid.IntRange(0, 1).Draw(t, "held on h")},
	}
	s.held = s.heldOnHost["h"]
	for i := range rapid.IntRange(0, 4).Draw(t, "groups") {
		w := waiter{group: string(rune('a' + i)), since: rapid.Uint64Range(0, 2).Draw(t, "since"),
			held: rapid.IntRange(0, 2).Draw(t, "held"), window: rapid.IntRange(0, 2).Draw(t, "window")}
		s.held += w.held
		hosts := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"", "h", "i", "j", "k"}), 1, 3, rapid.ID).Draw(t, "hosts")
		for _, h := range hosts {
			w.wants = append(w.wants, want{host: h, count: rapid.IntRange(1, 2).Draw(t, "count"),
				since: rapid.Uint64Range(0, 2).Draw(t, "want since")})
		}
		s.waiters = append(s.waiters, w)
	}
	s.limits.Tasks += rapid.IntRange(0, s.held).Draw(t, "room")
	return s
}

// allows reports whether a result exceeds no limit.
func (s snapshot) allows(given map[slot]int) bool {
	total, onHost := 0, map[string]int{}
	for _, w := range s.waiters {
		held := w.held
		for _, d := range w.wants {
			n := given[slot{w.group, d.host}]
			if n < 0 || n > d.count {
				return false
			}
			held, total = held+n, total+n
			onHost[d.host] += n
		}
		if w.window > 0 && held > max(w.window, w.held) {
			return false
		}
	}
	for h, n := range onHost {
		if h != "" && s.limits.TasksPerHost > 0 && n > max(0, s.limits.TasksPerHost-s.heldOnHost[h]) {
			return false
		}
	}
	return total <= max(0, s.limits.Tasks-s.held)
}

// outcome is the sorted number of slots of each waiter: greater is fairer.
func (s snapshot) outcome(given map[slot]int) []int {
	all := make([]int, 0, len(s.waiters))
	for _, w := range s.waiters {
		held := w.held
		for _, d := range w.wants {
			held += given[slot{w.group, d.host}]
		}
		all = append(all, held)
	}
	slices.Sort(all)
	return all
}

// forEach calls f with every allowed result.
func forEach(s snapshot, f func(map[slot]int)) {
	var wants []want
	var keys []slot
	for _, w := range s.waiters {
		for _, d := range w.wants {
			wants, keys = append(wants, d), append(keys, slot{w.group, d.host})
		}
	}
	given := map[slot]int{}
	var try func(i int)
	try = func(i int) {
		if !s.allows(given) {
			return
		}
		if i == len(wants) {
			f(given)
			return
		}
		for n := range wants[i].count + 1 {
			given[keys[i]] = n
			try(i + 1)
		}
		delete(given, keys[i])
	}
	try(0)
}

func matrix(s snapshot, shares []share) map[slot]int {
	given := map[slot]int{}
	for _, w := range s.waiters {
		for _, d := range w.wants {
			given[slot{w.group, d.host}] = 0
		}
	}
	for _, sh := range shares {
		given[slot{sh.group, sh.host}] += sh.slots
	}
	return given
}

func text(shares []share) string {
	parts := make([]string, 0, len(shares))
	for _, s := range shares {
		parts = append(parts, fmt.Sprintf("%s/%s=%d", s.group, s.host, s.slots))
	}
	return strings.Join(parts, " ")
}
