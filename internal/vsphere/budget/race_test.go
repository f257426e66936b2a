package budget

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// check reports a broken invariant. It compares the counters with sums over groups.
func (b *Budget) check() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	held, reserved := 0, 0
	if err := b.checkWaiting(); err != nil {
		return err
	}
	for name, g := range b.groups {
		held += g.held
		for host := range g.grants {
			reserved += g.reserved(host)
		}
		if g.held < 0 || g.idle() {
			return fmt.Errorf("group %s is kept with %d slots", name, g.held)
		}
	}
	switch {
	case held != b.held:
		return fmt.Errorf("%d slots are counted and %d held", b.held, held)
	case b.held > b.limits.Tasks:
		return fmt.Errorf("%d slots are held of %d", b.held, b.limits.Tasks)
	case b.running < 0 || b.running+reserved != b.held:
		return fmt.Errorf("%d tasks run and %d slots are reserved, of %d that are held", b.running, reserved, b.held)
	}
	for host, n := range b.heldOnHost {
		if n < 0 || b.limits.TasksPerHost > 0 && n > b.limits.TasksPerHost {
			return fmt.Errorf("%d slots of %s are held of %d", n, host, b.limits.TasksPerHost)
		}
	}
	return nil
}

// checkWaiting compares the incremental state with a scan of all groups.
func (b *Budget) checkWaiting() error {
	var all []waiter
	wanted, members := demands{hosts: map[string]int{}}, map[string]*member{}
	for _, g := range b.groups {
		m, ok := members[g.member.name]
		if !ok {
			m = &member{name: g.member.name, since: g.member.since}
			members[m.name] = m
		}
		m.held += g.held
		m.groups++
		if len(g.demands) > 0 {
			m.waiting++
		}
		wanted.count(g, 1)
		if w := g.waiter(); len(w.wants) > 0 {
			all = append(all, w)
		}
	}
	for name, m := range members {
		if is := b.members[name]; is.tenant() != m.tenant() || is.groups != m.groups || is.waiting != m.waiting {
			return fmt.Errorf("member %s is %+v, want %+v", name, is, m)
		}
	}
	if err := b.checkHosts(members); err != nil {
		return err
	}
	if len(b.members) != len(members) || b.wanted.total != wanted.total || !maps.Equal(b.wanted.hosts, wanted.hosts) {
		return fmt.Errorf("%d members want %+v, want %d and %+v", len(b.members), b.wanted, len(members), wanted)
	}
	some := b.snapshot()
	if some.free() <= 0 {
		return nil
	}
	whole := some
	whole.waiters = all
	if got, want := text(allocate(some)), text(allocate(whole)); got != want {
		return fmt.Errorf("among those that matter %q, among all %q\n%+v\n%+v", got, want, some, whole)
	}
	return nil
}

// checkHosts compares members' slots on each host with their total.
func (b *Budget) checkHosts(members map[string]*member) error {
	for host, by := range b.heldBy {
		onHost := 0
		for m, n := range by {
			onHost += n
			members[m.name].held -= n
		}
		if onHost <= 0 || host != "" && onHost != b.heldOnHost[host] {
			return fmt.Errorf("members hold %d slots of %q, of which %d are held", onHost, host, b.heldOnHost[host])
		}
	}
	for name, m := range members {
		if m.held != 0 {
			return fmt.Errorf("of member %s %d slots are of no host", name, m.held)
		}
	}
	return nil
}

func nameOf(i int) string { return fmt.Sprintf("%c/%d", "mno"[i%3], i) }

// TestConcurrentGroups runs the tasks of many groups at once. Only notifications wake them, so a lost one hangs
// the test. Some stop half-way and leave their demand behind.
func TestConcurrentGroups(t *testing.T) {
	const groups, tasks = 80, 25
	limits := Limits{Tasks: 8, TasksPerHost: 3}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	wake := make(map[string]chan struct{})
	for i := range groups {
		wake[nameOf(i)] = make(chan struct{}, 1)
	}
	b := NewWithClock(limits, notify(func(group string) {
		select {
		case wake[group] <- struct{}{}:
		default:
		}
	}), systemClock(), 5*time.Millisecond)
	var running, most atomic.Int64
	ends := make(chan func(), groups*tasks) // a goroutine that simulates vCenter ends the tasks
	var vcenter, clients sync.WaitGroup
	vcenter.Go(func() {
		for end := range ends {
			end()
		}
	})
	for i := range groups {
		clients.Go(func() {
			name, host := nameOf(i), []string{"", "h", "i"}[i%3]
			for left := tasks; left > 0; {
				if i%10 == 9 && left < tasks/2 {
					return // leaves with its demand unserved
				}
				grant := b.Acquire(name, host, left)
				if err := b.check(); err != nil {
					t.Error(err)
				}
				got := grant.Granted()
				for range max(min(got, 1), got-left%2) { // sometimes uses fewer slots than granted
					done := b.Start(name, host)
					most.Store(max(most.Load(), running.Add(1)))
					left--
					ok := left%7 != 0
					ends <- func() { running.Add(-1); done(ok); done(ok) }
				}
				grant.Release()
				if got > 0 {
					continue
				}
				select {
				case <-wake[name]:
				case <-ctx.Done():
					t.Errorf("group %s waits for ever with %d tasks left", name, left)
					return
				}
			}
		})
	}
	clients.Wait()
	close(ends)
	vcenter.Wait()
	if err := b.check(); err != nil {
		t.Error(err)
	}
	if b.Running() != 0 || most.Load() > int64(limits.Tasks) {
		t.Errorf("%d tasks run at the end, %d at most; want 0 and no more than %d", b.Running(), most.Load(), limits.Tasks)
	}
}

// TestNobodyIsForgotten drives random groups only by their notifications and the timer, in one goroutine: all
// that keep requesting are served in the end.
func TestNobodyIsForgotten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &manual{}
		due := []string{}
		limits := Limits{Tasks: rapid.IntRange(1, 5).Draw(t, "tasks"), TasksPerHost: rapid.IntRange(1, 3).Draw(t, "per host")}
		b := NewWithClock(limits, notify(func(g string) { due = append(due, g) }), m.clock(), time.Second)
		left, silent := map[string]int{}, map[string]bool{}
		for i := range rapid.IntRange(1, 8).Draw(t, "groups") {
			g := rapid.SampledFrom([]string{"m", "n", "o"}).Draw(t, "member") + "/" + string(rune('a'+i))
			left[g] = rapid.IntRange(1, 9).Draw(t, "work")
			silent[g] = rapid.IntRange(0, 4).Draw(t, "silent") == 0
			due = append(due, g)
		}
		var ends []func(bool)
		visit := func(g string) {
			host := []string{"", "h", "i"}[int(g[2])%3]
			grant := b.Acquire(g, host, left[g])
			use := rapid.IntRange(0, grant.Granted()).Draw(t, "use")
			for range use {
				ends = append(ends, b.Start(g, host))
				left[g]--
			}
			grant.Release()
			if use > 0 && left[g] > 0 || use == 0 && grant.Granted() > 0 {
				due = append(due, g)
			}
		}
		first := true
		for range 10_000 {
			if err := b.check(); err != nil {
				t.Fatal(err)
			}
			switch {
			case len(due) > 0 && (len(ends) == 0 || rapid.Bool().Draw(t, "visit")):
				g := due[0]
				due = due[1:]
				if first || !silent[g] {
					visit(g)
				}
			case len(ends) > 0:
				i := rapid.IntRange(0, len(ends)-1).Draw(t, "end")
				ends[i](rapid.IntRange(0, 3).Draw(t, "ok") > 0)
				ends = append(ends[:i], ends[i+1:]...)
			case m.armed() > 0:
				m.advance(time.Second)
			default:
				for g, n := range left {
					if n > 0 && !silent[g] {
						t.Fatalf("group %s waits for ever with %d tasks left", g, n)
					}
				}
				return
			}
			first = len(due) > 0 && first
		}
		t.Fatal("does not come to an end")
	})
}
