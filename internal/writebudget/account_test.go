package writebudget

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var begun = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// user is one who writes in a namespace, as fast as may be or once in a while.
type user struct {
	namespace string
	ids       int
	every     time.Duration

	next  map[int]time.Time
	since map[int]time.Time
	// wrote is how many writes were done, and longest how long one of them waited.
	wrote   int
	longest time.Duration
}

// run has users write for some time, and returns how many bytes were written.
func run(a *account, bytes int, lasts time.Duration, users ...*user) (all int) {
	for _, u := range users {
		u.next, u.since = map[int]time.Time{}, map[int]time.Time{}
	}
	for now := begun; now.Before(begun.Add(lasts)); now = now.Add(10 * time.Millisecond) {
		for _, u := range users {
			for id := range u.ids {
				if now.Before(u.next[id]) {
					continue
				}
				if u.since[id].IsZero() {
					u.since[id] = now
				}
				wait, _ := a.ask(now, Turn{u.namespace, fmt.Sprint(id)}, bytes)
				if u.next[id] = now.Add(wait); wait > 0 {
					continue
				}
				u.longest = max(u.longest, now.Sub(u.since[id]))
				u.wrote++
				all += bytes
				u.since[id], u.next[id] = time.Time{}, now.Add(u.every)
			}
		}
	}
	return all
}

func TestAMemberWritesNoMoreThanItsBudget(t *testing.T) {
	const bytes, rate, burst = 4000, 64_000, 1_000_000
	for _, groups := range []int{1, 30, 300} {
		u := &user{namespace: "shop", ids: groups, every: 20 * time.Millisecond}
		all := run(newAccount(Limits{rate, burst}), bytes, time.Minute, u)
		if most := burst + 60*rate + bytes; all > most {
			t.Errorf("%d groups wrote %d bytes in a minute, at most %d may be", groups, all, most)
		}
		if groups > 1 && all < 60*rate {
			t.Errorf("%d groups wrote %d bytes in a minute, and %d may be", groups, all, 60*rate)
		}
	}
}

// TestAUserWhoEditsManyGroupsDelaysNoOtherNamespace: the namespaces take turns, however many wait in one of them.
func TestAUserWhoEditsManyGroupsDelaysNoOtherNamespace(t *testing.T) {
	greedy := &user{namespace: "greedy", ids: 300, every: 10 * time.Millisecond}
	second := &user{namespace: "second", ids: 20, every: 50 * time.Millisecond}
	modest := &user{namespace: "modest", ids: 1, every: 2 * time.Second}
	run(newAccount(Limits{64_000, 100_000}), 4000, 2*time.Minute, greedy, second, modest)
	// A turn of each of three namespaces takes a fifth of a second.
	if modest.longest > time.Second || modest.wrote < 40 {
		t.Errorf("a user with one group wrote %d times, and waited up to %v", modest.wrote, modest.longest)
	}
	if greedy.wrote > second.wrote*5/4 {
		t.Errorf("a user of 300 groups wrote %d times, one of 20 groups %d times", greedy.wrote, second.wrote)
	}
}

func TestAWriteAfterQuietDoesNotWait(t *testing.T) {
	u := &user{namespace: "shop", ids: 5, every: time.Second}
	if run(newAccount(Limits{64_000, 100_000}), 4000, time.Minute, u); u.longest > 0 {
		t.Errorf("who stays below the budget waited %v", u.longest)
	}
}

// TestWhatIsGrantedAndNotTakenIsGivenBack: groups that are deleted while they wait cost nothing in the end.
func TestWhatIsGrantedAndNotTakenIsGivenBack(t *testing.T) {
	a := newAccount(Limits{1000, 1000})
	a.ask(begun, Turn{"shop", "first"}, 1000)
	for id := range 100 {
		a.ask(begun, Turn{"shop", fmt.Sprint(id)}, 1000)
	}
	now := begun.Add(lapses - time.Second)
	a.serve(now)
	if len(a.waiting) == 0 {
		t.Fatal("all are served at once")
	}
	now = now.Add(2 * lapses)
	for range 3 {
		a.serve(now)
		now = now.Add(time.Second)
	}
	if len(a.waiting)+len(a.granted)+len(a.lines)+len(a.order) > 0 || a.credit.TokensAt(now) < 1000 {
		t.Errorf("%d wait, %d are granted, credit is %v", len(a.waiting), len(a.granted), a.credit.TokensAt(now))
	}
}

func TestWhoWithdrawsWaitsNoMore(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		a := newAccount(Limits{1000, 1000})
		now := begun
		for range 500 {
			turn := Turn{fmt.Sprint(random.IntN(3)), fmt.Sprint(random.IntN(4))}
			if now = now.Add(time.Duration(random.IntN(300)) * time.Millisecond); random.IntN(3) == 0 {
				a.withdraw(now, turn)
			} else {
				a.ask(now, turn, random.IntN(2000))
			}
			waiting := 0
			for _, namespace := range a.order {
				waiting += len(a.lines[namespace].waiters)
			}
			if waiting != len(a.waiting) || len(a.order) != len(a.lines) {
				t.Fatalf("%d stand in %d lines, %d wait", waiting, len(a.lines), len(a.waiting))
			}
		}
	}
}

func TestMembersHaveBudgetsOfTheirOwn(t *testing.T) {
	now := begun
	b := New(Limits{1000, 1000}, func() time.Time { return now })
	b.Meet("uid-a", "a")
	if b.UID("a") != "uid-a" || b.UID("unknown") != "unknown" {
		t.Errorf("a is %q", b.UID("a"))
	}
	if wait := b.Ask("uid-a", Turn{"shop", "web"}, 500); wait != 0 {
		t.Errorf("the first write waits %v", wait)
	}
	b.Settle("uid-a", Record, 500, 5000) // it was larger than thought
	if wait := b.Ask("uid-a", Turn{"shop", "web"}, 500); wait < 3*time.Second {
		t.Errorf("in debt the next write waits %v", wait)
	}
	if b.Afford("uid-a", Event, 10) {
		t.Error("an event is written while others wait")
	}
	if wait := b.Ask("uid-b", Turn{"shop", "web"}, 500); wait != 0 || !b.Afford("uid-b", Event, 10) {
		t.Errorf("another member waits %v", wait)
	}
	now = now.Add(5 * time.Second)
	if wait := b.Ask("uid-a", Turn{"shop", "web"}, 500); wait != 0 {
		t.Errorf("after five seconds it waits %v still", wait)
	}
}

// Who is next in its namespace waits for those of other namespaces whose turn comes before.
func TestTheEstimateCountsOtherNamespacesWhoseTurnIsEarlier(t *testing.T) {
	const bytes, rate = 4000, 64_000
	a := newAccount(Limits{rate, bytes})
	a.ask(begun, Turn{"first", "0"}, bytes)
	for i := range 160 {
		a.ask(begun, Turn{fmt.Sprint("namespace-", i), "0"}, bytes)
	}
	wait, _ := a.ask(begun, Turn{"last", "0"}, bytes)
	if least := 160 * bytes / rate * time.Second * 9 / 10; wait < least {
		t.Errorf("after 160 namespaces it is to ask again in %v", wait)
	}
}

// A name that a MemberCluster had before is another's now.
func TestAMemberThatTookANameKeepsItsBudget(t *testing.T) {
	b := New(Default, func() time.Time { return begun })
	b.Meet("one", "name")
	b.Meet("two", "name")
	b.Meet("one", "another name")
	b.Meet("two", "name")
	if uid := b.UID("name"); uid != "two" {
		t.Errorf("the budget of the name is that of %q", uid)
	}
}
