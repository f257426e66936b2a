package budget

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestThoseWhoMatterAreEnough lets random groups want slots on several hosts, succeed and fail. After each step, a
// decision among the few relevant groups equals one among all, and every counter equals the sum over all groups.
func TestThoseWhoMatterAreEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &manual{}
		drawLimits := func() Limits {
			return Limits{Tasks: rapid.IntRange(1, 20).Draw(t, "tasks"), TasksPerHost: rapid.IntRange(0, 8).Draw(t, "per host")}
		}
		b := NewWithClock(drawLimits(), unheard, m.clock(), time.Second)
		type task struct {
			group string
			end   func(bool)
		}
		var running []task
		groups := rapid.IntRange(1, 30).Draw(t, "groups")
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			name := nameOf(rapid.IntRange(0, groups-1).Draw(t, "group"))
			host := rapid.SampledFrom([]string{"", "h", "i", "j"}).Draw(t, "host")
			switch rapid.IntRange(0, 11).Draw(t, "step") {
			default:
				acquire := b.Acquire
				if rapid.Bool().Draw(t, "behind") {
					acquire = b.AcquireBehind
				}
				grant := acquire(name, host, rapid.IntRange(0, 4).Draw(t, "want"))
				for range rapid.IntRange(0, grant.Granted()).Draw(t, "use") {
					running = append(running, task{name, b.Start(name, host)})
				}
				grant.Release()
			case 0, 1, 2, 3:
				if len(running) > 0 {
					i := rapid.IntRange(0, len(running)-1).Draw(t, "which")
					running[i].end(rapid.IntRange(0, 3).Draw(t, "ok") > 0)
					running = slices.Delete(running, i, i+1)
				}
			case 4:
				b.Forget(name)
			case 5:
				m.advance(time.Second)
			case 6:
				b.SetLimits(drawLimits())
			case 7:
				b.SetCaps(Caps{Tasks: rapid.IntRange(-1, 20).Draw(t, "cap"), OtherHosts: rapid.IntRange(-1, 8).Draw(t, "of hosts")})
			case 8:
				running = append(running, task{name, b.Start(name, host)}) // without a reservation
			}
			b.mu.Lock()
			err := b.checkWaiting()
			b.mu.Unlock()
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, one := range running {
			one.end(true)
		}
		for i := range groups {
			b.Forget(nameOf(i))
		}
		if len(b.groups)+len(b.members)+len(b.waiting)+len(b.wanted.hosts)+b.wanted.total+len(b.heldBy) != 0 {
			t.Fatalf("something is left: %+v", b)
		}
	})
}

// The benchmarks measure the cost of a call; this test counts the groups that it checks.
func TestADecisionLooksAtNoMoreGroupsWhenMoreWait(t *testing.T) {
	looksAt := func(waiting int) int {
		r := newRig(t, Limits{Tasks: 16, TasksPerHost: 8})
		ends := slices.Concat(r.start("0/big", "h", 8), r.start("0/big", "i", 8))
		for i, name := range crowdOf(waiting) {
			r.asks(name, []string{"h", "i"}[i/10%2], 5, 0)
		}
		ends[0](true)
		ends[8](true)
		ends[9](true)
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.snapshot().waiters)
	}
	// One slot is free on one host and two on the other, with three members of one group on each.
	if few, many := looksAt(100), looksAt(5000); few != 6 || many != 6 {
		t.Errorf("of 100 groups a decision checks %d, of 5000 %d, want 6", few, many)
	}
}

// number is an entry for tests.
type number struct{ n, at int }

func (n *number) before(o *number) bool { return n.n < o.n }
func (n *number) moved(to int)          { n.at = to }

func TestOrderedIsInOrderWhateverComesAndGoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o ordered[*number]
		there := map[int]*number{}
		for range rapid.IntRange(0, 50).Draw(t, "steps") {
			n := rapid.IntRange(0, 30).Draw(t, "number")
			if x, ok := there[n]; ok {
				o.remove(x.at)
				delete(there, n)
				continue
			}
			there[n] = &number{n: n}
			o.add(there[n])
		}
		var got, want []int
		for x := range o.first(10) {
			got = append(got, x.n)
		}
		for n := range there {
			want = append(want, n)
		}
		slices.Sort(want)
		if want = want[:min(10, len(want))]; !slices.Equal(got, want) {
			t.Fatalf("the first are %v, want %v", got, want)
		}
		for i, x := range o {
			if x.at != i {
				t.Fatal(fmt.Sprint(x.n, " is at ", i, " and says ", x.at))
			}
		}
	})
}
