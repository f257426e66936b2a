package budget

import (
	"fmt"
	"testing"
	"time"
)

// crowd simulates a vCenter whose tasks all take the same time, and groups that request slots when they are notified.
type crowd struct {
	*Budget
	clock *manual
	// missing is the number of VMs that a group wants and has not begun to clone, cloning the
	// number of its running clones.
	missing, cloning map[string]int
	// began is the start of a group's first clone, ended the end of its last one.
	began, ended map[string]time.Time
	// behind are groups that lack no VM.
	behind map[string]bool
	due    []string
	// length of a group's next clone.
	length func(group string) time.Duration
}

const cloneTime = time.Minute

func newCrowd(limits Limits) *crowd {
	c := &crowd{
		clock: &manual{}, missing: map[string]int{}, cloning: map[string]int{},
		began: map[string]time.Time{}, ended: map[string]time.Time{}, behind: map[string]bool{},
		length: func(string) time.Duration { return cloneTime },
	}
	c.Budget = NewWithClock(limits, notify(func(g string) { c.due = append(c.due, g) }), c.clock.clock(), time.Second)
	return c
}

func (c *crowd) comes(group string, vms int) {
	c.missing[group] = vms
	c.due = append(c.due, group)
	c.serve()
}

// serve runs the requests of all notified groups.
func (c *crowd) serve() {
	for len(c.due) > 0 {
		group := c.due[0]
		c.due = c.due[1:]
		acquire := c.Acquire
		if c.behind[group] {
			acquire = c.AcquireBehind
		}
		grant := acquire(group, "h", c.missing[group])
		for range grant.Granted() {
			if c.began[group].IsZero() {
				c.began[group] = c.clock.Now()
			}
			c.missing[group]--
			c.cloning[group]++
			done := c.Start(group, "h")
			c.clock.afterFunc(c.length(group), func() {
				c.cloning[group]--
				if c.cloning[group]+c.missing[group] == 0 {
					c.ended[group] = c.clock.Now()
				}
				done(true)
				c.serve()
			})
		}
		grant.Release()
	}
}

func TestAGiantAloneTakesNoLongerThanItMust(t *testing.T) {
	for width, rounds := range map[int]time.Duration{8: 6, 16: 3} {
		c := newCrowd(Limits{Tasks: width, TasksPerHost: width})
		start := c.clock.Now()
		c.comes("giant", 48)
		c.clock.advance(rounds * cloneTime)
		if took := c.ended["giant"].Sub(start); took != rounds*cloneTime {
			t.Errorf("%d wide: 48 clones took %s, want %d of %s", width, took, rounds, cloneTime)
		}
	}
}

func TestSmallGroupsDoNotWaitBesideAGiant(t *testing.T) {
	for name, limits := range map[string]Limits{
		"16 tasks": {Tasks: 16}, "16 of many tasks on a host": {Tasks: 64, TasksPerHost: 16},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(limits)
			c.comes("another", 0)
			start := c.clock.Now()
			c.comes("giant", 48)
			arrived := map[string]time.Time{}
			for c.ended["giant"].IsZero() {
				c.clock.advance(cloneTime / 2)
				group := fmt.Sprint(len(arrived))
				arrived[group] = c.clock.Now()
				c.comes(group, 1)
				if c.clock.Now().Sub(start) > 48*cloneTime {
					t.Fatal("the giant starves")
				}
			}
			if len(arrived) < 6 {
				t.Fatalf("%d small groups prove nothing", len(arrived))
			}
			for group, at := range arrived {
				if c.began[group] != at {
					t.Errorf("group %s waited %s", group, c.began[group].Sub(at))
				}
			}
			// Two small groups clone at any time, and two slots are kept for the next one: 12 of 16 are left.
			if took := c.ended["giant"].Sub(start); took > 4*cloneTime {
				t.Errorf("48 clones took %s beside the small groups, want at most %s", took, 4*cloneTime)
			}
		})
	}
}

// Groups that were edited at once each want one VM more, twice in turn, and lack none. Without
// AcquireBehind, the last of the new groups waits for 37 rounds.
func TestNewGroupsDoNotWaitForAllThatWereEdited(t *testing.T) {
	for name, limits := range map[string]Limits{
		"16 tasks": {Tasks: 16}, "16 of many tasks on a host": {Tasks: 64, TasksPerHost: 16},
	} {
		t.Run(name, func(t *testing.T) {
			const edited, came = 300, 40
			c := newCrowd(limits)
			for i := range edited {
				group := fmt.Sprint("member/edited-", i)
				c.behind[group] = true
				c.comes(group, 2)
			}
			applied := map[string]time.Time{}
			for i := range came {
				c.clock.advance(cloneTime / 2)
				group := fmt.Sprint("member/new-", i)
				applied[group] = c.clock.Now()
				c.comes(group, 1)
			}
			c.clock.advance(60 * cloneTime)
			for group, at := range applied {
				if took := c.ended[group].Sub(at); took > cloneTime*3/2 {
					t.Errorf("%s had its VM after %s, %.1f times the time of a clone", group, took, float64(took)/float64(cloneTime))
				}
			}
			for group := range c.behind {
				if c.ended[group].IsZero() {
					t.Errorf("%s was never updated", group)
				}
			}
		})
	}
}

// A VM can go missing during an update: then the group is not behind any more.
func TestAGroupThatLacksSomethingIsNotBehind(t *testing.T) {
	b := New(Limits{Tasks: 8}, unheard)
	b.Acquire("member/another", "h", 0)
	b.Acquire("member/giant", "h", 8)
	b.AcquireBehind("member/edited", "h", 1)
	if n := b.Reserved("member/edited", "h"); n != 0 {
		t.Errorf("an update got %d slots of the headroom", n)
	}
	b.Acquire("member/edited", "h", 1)
	if n := b.Reserved("member/edited", "h"); n != 1 {
		t.Errorf("a group that lacks a VM got %d slots", n)
	}
}
