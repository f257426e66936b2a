package budget

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAMemberNeedNotWaitForManySmallGroupsOfAnother(t *testing.T) {
	for name, limits := range map[string]Limits{"tasks": {Tasks: 8}, "clones of a host": {Tasks: 64, TasksPerHost: 8}} {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(limits)
			start := c.clock.Now()
			for i := range 150 {
				c.comes(fmt.Sprint("many/", i), 1)
			}
			c.clock.advance(5 * cloneTime / 2)
			arrived := c.clock.Now()
			for i := range 8 {
				c.comes(fmt.Sprint("few/", i), 1)
			}
			c.clock.advance(35 * cloneTime / 2)
			if waited := c.began["few/0"].Sub(arrived); c.began["few/0"].IsZero() || waited > cloneTime {
				t.Errorf("the first VM waited %s, want at most %s", waited, cloneTime)
			}
			// Half of the slots are theirs once the running clones have ended: two rounds.
			for i := range 8 {
				group := fmt.Sprint("few/", i)
				if took := c.ended[group].Sub(arrived); c.ended[group].IsZero() || took > 3*cloneTime {
					t.Errorf("group %s took %s, want at most %s", group, took, 3*cloneTime)
				}
			}
			// 158 clones, eight at a time: all slots were in use.
			for i := range 150 {
				group := fmt.Sprint("many/", i)
				if took := c.ended[group].Sub(start); c.ended[group].IsZero() || took > 20*cloneTime {
					t.Errorf("group %s took %s, want at most %s", group, took, 20*cloneTime)
				}
			}
		})
	}
}

// A group that holds a slot cannot use the headroom. If another member's new groups took each free headroom slot at
// once, it would get none.
func TestABigGroupHasItsMembersShareBesideManySmallOnesOfAnother(t *testing.T) {
	for name, limits := range map[string]Limits{"tasks": {Tasks: 16}, "clones of a host": {Tasks: 64, TasksPerHost: 16}} {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(limits)
			c.comes("big/0", 100)
			for i := range 300 {
				c.clock.advance(cloneTime / 17) // clones end one by one
				c.comes(fmt.Sprint("many/", i), 1)
				// Two of 16 slots are headroom; two members share the rest.
				if i > 50 && c.cloning["big/0"]+c.missing["big/0"] >= 7 && c.cloning["big/0"] < 6 {
					t.Fatalf("the big group has %d of 16 slots when small group %d comes, want at least 6", c.cloning["big/0"], i)
				}
			}
			if c.missing["big/0"] > 20 {
				t.Errorf("the big group has %d clones left to begin", c.missing["big/0"])
			}
		})
	}
}

// A member's small groups use the headroom at once, and then none of them waits. Their long clones must not keep another member, whose
// clones end earlier, below its share.
func TestAMemberHasItsShareBesideSmallGroupsThatDoNotWait(t *testing.T) {
	for name, limits := range map[string]Limits{"tasks": {Tasks: 16}, "clones of a host": {Tasks: 64, TasksPerHost: 16}} {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(limits)
			started := 0
			c.length = func(group string) time.Duration {
				if group != "big/0" {
					return 100 * cloneTime
				}
				started++
				return time.Duration(4+started%5) * tick
			}
			c.comes("another/0", 0) // with only one group, there is no headroom
			c.comes("big/0", 1000)
			for came := 0; came < 9; {
				c.clock.advance(tick)
				if held, _, _ := c.Load(); held < 16 {
					c.comes(fmt.Sprint("many/", came), 1)
					came++
				}
			}
			for range 50 {
				c.clock.advance(tick)
				// Two of 16 slots are headroom; two members share the rest.
				if c.cloning["big/0"] < 6 {
					t.Fatalf("the big group has %d slots, want at least 6", c.cloning["big/0"])
				}
			}
			for group, n := range c.missing {
				if n > 0 && group != "big/0" {
					t.Errorf("%s waits", group)
				}
			}
		})
	}
}

// A clone and its follow-up tasks are one turn: the first cloned VM runs before others are begun.
func TestAVMThatWasClonedNeedNotWaitForTheClonesOfAllOthers(t *testing.T) {
	r := newRig(t, Limits{Tasks: 1})
	end := r.start("x/0", "", 1)[0]
	names := []string{"a/1", "a/2", "a/3"}
	for _, group := range names {
		r.asks(group, "", 0, 0)
		r.asks(group, "h", 2, 0)
	}
	for range 2 { // and then the second VM of each
		for _, next := range names {
			end(true)
			r.told(next)
			end = r.start(next, "h", 1)[0]
			r.asks(next, "", 0, 0) // a pass while it is cloned
			r.asks(next, "h", 1, 0)
			end(true)
			r.notified = nil // the slot belongs to another group until the pass
			end = r.start(next, "", 1)[0]
			r.asks(next, "", 0, 0)
			r.asks(next, "h", 1, 0)
			r.notified = nil
		}
	}
}

func TestAGroupWhoseVMsStayOffKeepsItsPlaceOnce(t *testing.T) {
	r := newRig(t, Limits{Tasks: 1})
	end := r.start("x/0", "", 1)[0]
	r.asks("a/1", "h", 9, 0)
	r.asks("a/2", "h", 9, 0)
	for _, next := range []string{"a/1", "a/1", "a/2", "a/2", "a/1"} {
		end(true)
		r.told(next)
		grant := r.Acquire(next, "h", 9)
		end = r.Start(next, "h")
		grant.Release()
	}
	end(false) // the failure forfeits the turn
	r.told("a/2")
}

func TestMembersThatHaveTheSameTakeTurns(t *testing.T) {
	r := newRig(t, Limits{Tasks: 1})
	end := r.start("x/0", "", 1)[0]
	for _, group := range []string{"a/1", "a/2", "a/3", "b/1"} {
		r.asks(group, "", 2, 0)
	}
	for _, next := range []string{"a/1", "b/1", "a/2", "b/1", "a/3", "b/1"} {
		end(true)
		r.told(next)
		end = r.start(next, "", 1)[0]
		r.asks(next, "", 0, 0)
		if next == "a/1" || next == "b/1" {
			r.asks(next, "", 1, 0)
		}
	}
}

// tick divides all times; nothing happens between two ticks.
const tick = cloneTime / 6

// TestNoMemberStaysBelowItsShare starts groups of random members at random times, with clones of random length. A
// member that waits as long as the longest task then has at most one slot less than its minimum share in that time.
func TestNoMemberStaysBelowItsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 24).Draw(t, "width")
		limits := Limits{Tasks: width}
		if rapid.Bool().Draw(t, "on one host") {
			limits = Limits{Tasks: 100, TasksPerHost: width}
		}
		w := &tenants{crowd: newCrowd(limits), width: width, below: map[string][]shortage{}}
		w.length = func(string) time.Duration { return time.Duration(rapid.IntRange(1, 6).Draw(t, "length")) * tick }
		members := rapid.IntRange(1, 4).Draw(t, "members")
		came := 0
		for range rapid.IntRange(1, 20).Draw(t, "arrivals") {
			member := rapid.IntRange(0, members-1).Draw(t, "member")
			vms := rapid.SampledFrom([]int{1, 1, 1, 3, 20}).Draw(t, "VMs")
			for range rapid.SampledFrom([]int{1, 1, 5, 20}).Draw(t, "groups") {
				w.comes(fmt.Sprintf("%d/%d", member, came), vms)
				came++
			}
			if err := w.check(); err != nil {
				t.Fatal(err)
			}
			w.look(t)
			for range rapid.IntRange(0, 4).Draw(t, "ticks") {
				w.clock.advance(tick)
				w.look(t)
			}
		}
		for i := 0; len(w.ended) < came; i++ {
			if w.clock.advance(tick); i > 10_000 {
				t.Fatalf("%d of %d groups are served in the end", len(w.ended), came)
			}
			w.look(t)
		}
	})
}

// tenants is a crowd with checks of each member's share.
type tenants struct {
	*crowd
	width int
	// below has, for each waiting member, its slots and its share, for the duration of the longest task.
	below map[string][]shortage
}

type shortage struct {
	at    time.Time
	share int
}

// look runs after all events of one moment.
func (w *tenants) look(t *rapid.T) {
	held, missing := map[string]int{}, map[string]int{}
	for group, n := range w.missing {
		held[group[:1]] += w.cloning[group]
		missing[group[:1]] += n
	}
	share := shareOf(w.width-headroom(w.width), held, missing)
	now := w.clock.Now()
	for member := range held {
		if missing[member] == 0 {
			delete(w.below, member)
			continue
		}
		seen := slices.Concat(w.below[member], []shortage{{now, share}})
		for len(seen) > 1 && !seen[1].at.After(now.Add(-cloneTime)) {
			seen = seen[1:]
		}
		w.below[member] = seen
		if seen[0].at.After(now.Add(-cloneTime)) {
			continue
		}
		least := slices.MinFunc(seen, func(a, b shortage) int { return a.share - b.share }).share
		if held[member] < least-1 {
			t.Fatalf("member %s has waited for %s with %d slots of a share of %d; held %v, missing %v", member, cloneTime, held[member], least, held, missing)
		}
	}
}

// shareOf is the number of slots of a member that wants more, if slots are dealt one by one to the member with the
// fewest.
func shareOf(slots int, held, missing map[string]int) int {
	wants := make([]int, 0, len(held))
	for member, n := range held {
		wants = append(wants, n+missing[member])
	}
	slices.Sort(wants)
	for i, n := range wants {
		left := len(wants) - i
		if n*left > slots {
			return slots / left
		}
		slots -= n
	}
	return slots
}
