package massdeletion

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func key(i int) vsphere.GroupKey { return vsphere.KeyOf("member", fmt.Sprint(i)) }

// old is a guarded group with a number of VMs and a wanted number.
func old(existing, wanted int) Group {
	return Group{Created: noon.Add(-2 * time.Hour), Existing: existing, Wanted: wanted}
}

func young(existing, wanted int) Group {
	g := old(existing, wanted)
	g.Created = noon.Add(-59 * time.Minute)
	return g
}

func spared(g Group) Group { g.Spared = true; return g }

// member is a breaker that received groups, first without a removal, then in their current state.
func member(groups ...Group) *Breaker {
	b := New(DefaultRules())
	for i, g := range groups {
		b.Set(key(i), g, noon)
	}
	return b
}

func times(n int, g Group) []Group {
	groups := make([]Group, n)
	for i := range groups {
		groups[i] = g
	}
	return groups
}

func limit(maxVMs string) Limit { v := intstr.Parse(maxVMs); return LimitOf(&v) }

func TestAMassDeletionIsToldFromWhatIsMeant(t *testing.T) {
	all := func(parts ...[]Group) (groups []Group) {
		for _, p := range parts {
			groups = append(groups, p...)
		}
		return groups
	}
	usual := Limit{}
	for _, test := range []struct {
		name   string
		groups []Group
		limit  Limit
		trips  bool
	}{
		{"40 of 150 groups with one VM each are deleted", all(times(40, old(1, 0)), times(110, old(1, 1))), usual, true},
		{"30 of 150 are 20% and no more", all(times(30, old(1, 0)), times(120, old(1, 1))), usual, false},
		{"31 of 150 are more", all(times(31, old(1, 0)), times(119, old(1, 1))), usual, true},
		{"20 of 150", all(times(20, old(1, 0)), times(130, old(1, 1))), usual, false},
		{"all 20 groups of a CRD", times(20, old(1, 0)), usual, true},
		{"10 VMs may always go", times(10, old(1, 0)), usual, false},
		{"11 may not", times(11, old(1, 0)), usual, true},
		{"one group of 500 VMs alone", all(times(1, old(500, 0)), times(10, old(1, 1))), usual, false},
		{"one group of 500 VMs, and one VM of another", all(times(1, old(500, 0)), times(1, old(1, 0)), times(10, old(1, 1))), usual, true},
		{"groups that only shrink", times(20, old(3, 1)), usual, true},
		{"groups that are deleted, and others that shrink", all(times(6, old(1, 0)), times(6, old(2, 1))), usual, true},
		{"40 young groups", times(40, young(3, 0)), usual, false},
		{"young groups count neither way", all(times(11, old(1, 0)), times(500, young(1, 1))), usual, true},
		{"groups that destroy nothing, or are confirmed", all(times(40, spared(old(3, 0))), times(5, old(1, 0))), usual, false},
		{"VMs that are confirmed leave no room for others", all(times(1000, spared(old(1, 0))), times(11, old(1, 0))), usual, true},
		{"more VMs than are wanted is no removal the other way round", times(20, old(1, 3)), usual, false},
		{"a number is the limit", times(4, old(1, 0)), limit("3"), true},
		{"up to which VMs may go", times(3, old(1, 0)), limit("3"), false},
		{"whatever the percentage of it", all(times(4, old(1, 0)), times(500, old(1, 1))), limit("3"), true},
		{"none beside another", times(2, old(1, 0)), limit("0"), true},
		{"one group alone in spite of it", times(1, old(5, 0)), limit("0"), false},
		{"half of the VMs", all(times(50, old(1, 0)), times(50, old(1, 1))), limit("50%"), false},
		{"more than half", all(times(51, old(1, 0)), times(49, old(1, 1))), limit("50%"), true},
		{"a small percentage lets 10 go", times(10, old(1, 0)), limit("1%"), false},
		{"100% is off", times(1000, old(10, 0)), limit("100%"), false},
		{"what is no limit is the usual one", times(11, old(1, 0)), limit("many"), true},
		{"nor is less than nothing", times(2, old(1, 0)), limit("-5"), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := member(test.groups...).Trips(key(0), test.groups[0], test.limit, noon); got != test.trips {
				t.Errorf("trips: %t", got)
			}
		})
	}
}

// A group that its pass sees as deleted counts as deleted even before its event arrives.
func TestWhatAPassSeesCountsBeforeItsNews(t *testing.T) {
	b := member(append(times(10, old(1, 0)), old(1, 1))...)
	if b.Trips(key(10), old(1, 1), Limit{}, noon) {
		t.Error("10 VMs of 11 leave, and that is too much")
	}
	if !b.Trips(key(10), old(1, 0), Limit{}, noon) {
		t.Error("11 VMs of 11 leave, and that is not too much")
	}
}

func TestWhatLeftCountsForTenMinutes(t *testing.T) {
	for _, test := range []struct {
		name  string
		leave func(b *Breaker, i int, now time.Time)
	}{
		{"deleted", func(b *Breaker, i int, now time.Time) {
			b.Set(key(i), old(1, 0), now)
			b.Remove(key(i), now)
		}},
		{"gone from the list", func(b *Breaker, i int, now time.Time) { b.Remove(key(i), now) }},
		{"smaller", func(b *Breaker, i int, now time.Time) {
			b.Set(key(i), old(1, 0), now)
			b.Set(key(i), old(0, 0), now)
		}},
		{"both at once", func(b *Breaker, i int, now time.Time) { b.Set(key(i), old(0, 0), now) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := member(times(12, old(1, 1))...)
			now := noon
			for i := range 10 {
				test.leave(b, i, now)
				now = now.Add(10 * time.Second)
			}
			last := old(1, 0)
			if !b.Trips(key(10), last, Limit{}, now) {
				t.Error("the eleventh VM within a minute or two may go")
			}
			if !b.Trips(key(10), last, Limit{}, noon.Add(10*time.Minute-time.Second)) {
				t.Error("what left less than ten minutes ago does not count any more")
			}
			if b.Trips(key(10), last, Limit{}, now.Add(10*time.Minute+11*time.Second)) {
				t.Error("what left longer ago counts still")
			}
		})
	}
}

// VMs that a group lost without a request, and those that it removed on its own, do not count toward other groups.
func TestOnlyWhatWasMeantToLeaveHasLeft(t *testing.T) {
	b := member(append(times(30, old(2, 2)), old(1, 1))...)
	for i := range 30 {
		b.Set(key(i), old(1, 2), noon) // a user deleted a VM in vCenter
		b.Set(key(i), old(2, 2), noon) // it was replaced
	}
	if b.Set(key(30), old(1, 0), noon); b.Trips(key(30), old(1, 0), Limit{}, noon) {
		t.Error("VMs that were lost count as removed")
	}

	b = member(append(times(1, old(500, 500)), old(1, 1))...)
	for left := 500; left >= 0; left-- {
		g := old(left, 0)
		if b.Set(key(0), g, noon); b.Trips(key(0), g, Limit{}, noon) {
			t.Fatalf("a group that is the only one to be deleted is held with %d VMs left", left)
		}
	}
	if !b.Trips(key(1), old(1, 0), Limit{}, noon) {
		t.Error("500 VMs that left a moment ago do not count beside another")
	}
	confirmed := spared(old(500, 0))
	b = member(confirmed, old(1, 1))
	if b.Remove(key(0), noon); b.Trips(key(1), old(1, 0), Limit{}, noon) {
		t.Error("what was confirmed counts against others")
	}
}

// 300 groups that are updated at once lose a VM each, and have got another one.
func TestWhatAnUpdateReplacesHasNotLeft(t *testing.T) {
	b := member(times(300, old(3, 3))...)
	for i := range 300 {
		during := old(4, 3)
		during.Updates = 1
		b.Set(key(i), during, noon)
		b.Set(key(i), old(3, 3), noon) // the last one was removed, and with it the update has ended
	}
	if b.Trips(key(1), old(3, 2), Limit{}, noon) {
		t.Error("VMs that were replaced count as removed")
	}
	for i := range 300 {
		during := old(4, 3)
		during.Updates = 1
		b.Set(key(i), during, noon)
		b.Set(key(i), old(2, 2), noon) // it shrank as well
	}
	if !b.Trips(key(1), old(2, 1), Limit{}, noon) {
		t.Error("VMs that were removed during an update do not count")
	}
}

func TestAGroupGrowsOldWhileItIsKnown(t *testing.T) {
	b := member(times(11, young(1, 0))...)
	if b.Trips(key(0), young(1, 0), Limit{}, noon) {
		t.Fatal("young groups count")
	}
	if !b.Trips(key(0), young(1, 0), Limit{}, noon.Add(time.Minute)) {
		t.Error("groups that have grown old do not count")
	}
	deleted := young(1, 0)
	deleted.Deleted = noon
	if b = member(times(11, deleted)...); b.Trips(key(0), deleted, Limit{}, noon.Add(time.Minute)) {
		t.Error("groups that were young when they were deleted count, because their deletion takes a while")
	}
	deleted.Deleted = noon.AddDate(1, 0, 0)
	if b = member(times(11, deleted)...); b.Trips(key(0), deleted, Limit{}, noon) {
		t.Error("the clock of the member makes groups old")
	}
}

func TestAClockThatIsSetBackForgetsNothingForEver(t *testing.T) {
	b := member(times(11, old(1, 1))...)
	for i := range 10 {
		b.Remove(key(i), noon.Add(time.Hour))
	}
	if !b.Trips(key(10), old(1, 0), Limit{}, noon) {
		t.Error("what left in what is the future now is forgotten")
	}
	if b.Trips(key(10), old(1, 0), Limit{}, noon.Add(11*time.Minute)) {
		t.Error("what left in the future counts until then")
	}
}

func TestWhatIsHeldIsCounted(t *testing.T) {
	held := old(3, 1)
	held.Held = true
	b := member(held, held, old(3, 1), young(3, 0))
	if got := b.Held(); got != (Held{Groups: 2, VMs: 4}) {
		t.Errorf("%+v", got)
	}
	held.Wanted = 3 // a user reverted it; status reports it a moment later
	b.Set(key(0), held, noon)
	b.Remove(key(1), noon)
	if got := b.Held(); got != (Held{}) {
		t.Errorf("%+v are left", got)
	}
	swept := old(3, 0)
	swept.Swept, swept.Spared = true, true
	b.Set(key(0), swept, noon)
	if got := b.Held(); got != (Held{SweptGroups: 1, SweptVMs: 3}) {
		t.Errorf("%+v", got)
	}
}

// model is the breaker as life-cycle describes it, recomputed from all inputs.
type model struct {
	groups map[int]Group
	left   []leave
}

type leave struct {
	group, vms int
	at         time.Time
}

func (m *model) trips(asks int, own Group, l Limit, now time.Time, rules Rules) bool {
	removes, all, others := 0, 0, false
	m.groups[asks] = own
	for i, g := range m.groups {
		if !g.Guarded(now, rules.Age) {
			continue
		}
		all += g.Existing
		removes += max(0, g.Existing-g.Wanted)
		others = others || i != asks && g.Existing > g.Wanted
	}
	for _, x := range m.left {
		if now.Sub(x.at.Truncate(10*time.Second)) < rules.Window+10*time.Second {
			removes, all, others = removes+x.vms, all+x.vms, others || x.group != asks
		}
	}
	return others && l.Exceeded(removes, all)
}

func TestTheBreakerIsWhatItSays(t *testing.T) {
	rules := DefaultRules()
	rapid.Check(t, func(t *rapid.T) {
		b, m, now := New(rules), &model{groups: map[int]Group{}}, noon
		maxVMs := limit(rapid.SampledFrom([]string{"20%", "50%", "3", "0"}).Draw(t, "limit"))
		who := rapid.IntRange(0, 20)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			i := who.Draw(t, "group")
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				now = now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "seconds")) * time.Second)
			case 1:
				if g, known := m.groups[i]; known && b.groups[key(i)].counted && g.Existing > 0 {
					m.left = append(m.left, leave{i, g.Existing, now})
				}
				delete(m.groups, i)
				b.Remove(key(i), now)
			default:
				g := Group{
					Created:  noon.Add(-time.Duration(rapid.IntRange(0, 90).Draw(t, "minutes")) * time.Minute),
					Existing: rapid.IntRange(0, 9).Draw(t, "existing"), Wanted: rapid.IntRange(0, 9).Draw(t, "wanted"),
					Spared: rapid.IntRange(0, 5).Draw(t, "spared") == 0,
				}
				if was, known := m.groups[i]; known && b.groups[key(i)].counted && !g.Spared {
					if n := min(was.Existing-g.Existing, was.Existing-min(was.Wanted, g.Wanted)); n > 0 {
						m.left = append(m.left, leave{i, n, now})
					}
				}
				m.groups[i] = g
				b.Set(key(i), g, now)
			}
			if own, known := m.groups[i]; known {
				now = now.Add(sweepInterval)
				if got, want := b.Trips(key(i), own, maxVMs, now), m.trips(i, own, maxVMs, now, rules); got != want {
					t.Fatalf("group %d: trips %t, want %t", i, got, want)
				}
			}
		}
	})
}

// Two replicas receive groups in different orders and decide the same: a replica that takes over a
// group continues the other's state.
func TestTheOrderOfNewsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		groups := make([]Group, rapid.IntRange(1, 40).Draw(t, "groups"))
		for i := range groups {
			groups[i] = old(rapid.IntRange(0, 5).Draw(t, "existing"), rapid.IntRange(0, 5).Draw(t, "wanted"))
		}
		a, b := member(times(len(groups), old(5, 5))...), member(times(len(groups), old(5, 5))...)
		for i, g := range groups {
			a.Set(key(i), g, noon)
		}
		for _, i := range rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed"))).Perm(len(groups)) {
			b.Set(key(i), groups[i], noon.Add(300*time.Millisecond))
		}
		at := noon.Add(10 * time.Second)
		for i, g := range groups {
			if a.Trips(key(i), g, Limit{}, at) != b.Trips(key(i), g, Limit{}, at) {
				t.Fatalf("group %d is held by one and not by the other", i)
			}
		}
	})
}

// A replica that has just started knows the VMs still to be removed, and misses at most those already removed.
func TestARestartForgetsNoMoreThanTheWindow(t *testing.T) {
	groups := append(times(12, old(1, 0)), times(30, old(1, 1))...)
	before, after := member(groups...), New(DefaultRules())
	for i := range 6 {
		before.Remove(key(i), noon)
	}
	for i := 6; i < len(groups); i++ {
		after.Set(key(i), groups[i], noon)
	}
	ask := func(b *Breaker, at time.Time) bool { return b.Trips(key(7), groups[7], Limit{}, at) }
	if !ask(before, noon) || ask(after, noon) {
		t.Errorf("before the restart it trips: %t, after it: %t", ask(before, noon), ask(after, noon))
	}
	later := noon.Add(DefaultRules().Window + time.Minute)
	if ask(before, later) != ask(after, later) {
		t.Error("after the window the two do not say the same")
	}
	for i := 12; i < 24; i++ {
		after.Set(key(i), old(1, 0), noon)
	}
	if !ask(after, noon) {
		t.Error("what is still to leave is forgotten")
	}
}

// An API server that invents groups affects only its own member, and uses no memory in proportion to past groups.
func TestNumbersThatAreMadeUpTakeLittle(t *testing.T) {
	b, now := New(DefaultRules()), noon
	for i := range 100_000 {
		b.Set(key(i), old(mostVMs, 0), now)
		b.Remove(key(i), now)
		now = now.Add(20 * time.Millisecond)
	}
	if n := len(b.window.parts); n > slots+2 || len(b.groups) > 0 {
		t.Errorf("%d parts and %d groups are kept", n, len(b.groups))
	}
	if !b.Trips(key(-1), old(1, 0), Limit{}, now) {
		t.Error("a sum has run over")
	}
}

func TestAskingCostsNothingInProportionToTheGroups(t *testing.T) {
	b := member(times(20_000, old(1, 1))...)
	b.Trips(key(0), old(1, 1), Limit{}, noon)
	swept := b.swept
	b.groups[key(5)] = entry{} // a full scan of the groups would notice
	for i := range 99 {
		b.Set(key(20_000+i), old(1, 0), noon)
		b.Trips(key(20_000+i), old(1, 0), Limit{}, noon.Add(time.Duration(i)*time.Millisecond))
	}
	if b.swept != swept {
		t.Error("all groups were scanned again within 0.1 s")
	}
}
