package share

import (
	"fmt"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
)

func TestAReplicaAloneUsesEverythingAtOnce(t *testing.T) {
	w := newWorld(t, 1, budget.Limits{Tasks: 8, TasksPerHost: 4})
	a := w.join()
	w.lead(a)
	a.wants("-", 20)
	a.settle()
	if a.held() != 8 {
		t.Errorf("%d slots are held, want 8", a.held())
	}
}

func (r *replica) settle() { r.w.settle() }

func TestAReplicaThatNobodyLeadsMayUseOne(t *testing.T) {
	w := newWorld(t, 1, budget.Limits{Tasks: 8, TasksPerHost: 4})
	a := w.join()
	a.wants("h", 20)
	a.settle()
	if a.held() != 1 {
		t.Errorf("%d slots are held, want 1", a.held())
	}
}

// Each replica divides its part of the limit between members, so they share the whole.
func TestMembersShareWhateverReplicasTheirGroupsAreOn(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t, seed, budget.Limits{Tasks: 9})
		all := w.some(3)
		for i := range 150 {
			all[i%3].wants(fmt.Sprint("-many/", i), 1)
		}
		w.run(20 * time.Second)
		few := func(i int) string { return fmt.Sprint("-few/", i) }
		for i := range 12 {
			all[i%3].wants(few(i), 1)
		}
		waiting := func() (on []int) {
			for _, r := range all {
				n := 0
				for i := range 12 {
					n += r.missing[few(i)]
				}
				on = append(on, n)
			}
			return on
		}
		w.run(longest)
		for _, n := range waiting() {
			if n == 4 {
				t.Fatalf("seed %d: a replica has begun no VM of the other member in %s; waiting by replica %v", seed, longest, waiting())
			}
		}
		w.run(2 * longest) // half of nine slots: twelve VMs are done in three rounds
		if left := waiting(); left[0]+left[1]+left[2] > 0 {
			t.Fatalf("seed %d: %v VMs of the other member are left to begin", seed, left)
		}
	}
}

// longest is the maximum duration of a replica's task.
const longest = 7500 * time.Millisecond

func TestABigGroupGetsTheIdleSlotsOfTheOthersAndGivesThemBack(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t, seed, budget.Limits{Tasks: 8})
		all := w.some(3)
		big, other := all[seed%3], all[(seed+1)%3]
		big.wants("h", 1000)
		w.run(time.Second)
		if big.held() != 8 {
			t.Fatalf("seed %d: the big group has %d slots, want all 8", seed, big.held())
		}
		other.wants("h", 1000)
		w.run(20 * time.Second) // tasks take at most 8 seconds
		if a, b := big.held(), other.held(); a+b < 7 || a < 3 || b < 3 {
			t.Fatalf("seed %d: two big groups have %d and %d slots, want 4 each", seed, a, b)
		}
	}
}

func TestIdleSlotsMoveWithinASecond(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t, seed, budget.Limits{Tasks: 8, TasksPerHost: 4})
		all := w.some(3)
		for i, r := range all {
			r.wants("h", 1)
			w.run(10 * time.Second)
			r.wants(fmt.Sprint(i), 4)
			r.wants("-", 4)
			w.run(time.Second) // four ways of 0.2 seconds
			if r.held() < 7 {
				t.Fatalf("seed %d: %d slots are held, want 7 or 8", seed, r.held())
			}
			w.run(20 * time.Second)
		}
	}
}

func TestAHostIsDividedAndNoSlotWaitsForIt(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t, seed, budget.Limits{Tasks: 8, TasksPerHost: 4})
		all := w.some(3)
		all[0].wants("h", 1000)
		all[1].wants("h", 1000)
		all[2].wants("i", 1000)
		w.run(20 * time.Second)
		for _, r := range all {
			r.length = time.Hour
		}
		w.run(20 * time.Second)
		if a, b, c := all[0].held(), all[1].held(), all[2].held(); a != 2 || b != 2 || c != 4 {
			t.Fatalf("seed %d: %d, %d and %d slots are held, want 2, 2 of one host and 4 of another", seed, a, b, c)
		}
	}
}

func TestMoreReplicasThanSlotsTakeTurns(t *testing.T) {
	w := newWorld(t, 1, budget.Limits{Tasks: 2})
	all := w.some(5)
	ran := map[*replica]int{}
	for _, r := range all {
		r.wants("h", 1000)
	}
	for range 120 {
		w.run(time.Second)
		for _, r := range all {
			ran[r] += r.held()
		}
	}
	for _, r := range all {
		if ran[r] < 20 {
			t.Errorf("%s had a slot for %d of 120 seconds", r.session, ran[r])
		}
	}
}

func TestSlotsOfADeadReplicaAreFree(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t, seed, budget.Limits{Tasks: 8})
		all := w.some(3)
		for _, r := range all {
			r.wants("h", 1000)
		}
		w.run(20 * time.Second)
		for _, r := range all {
			r.length = time.Hour
		}
		w.run(20 * time.Second)
		dead := all[seed%3] // sometimes the leader
		had := dead.held()
		w.kill(dead)
		w.run(5 * time.Second)
		if had == 0 || w.held() != 8 {
			t.Fatalf("seed %d: %d of 8 slots are held after the death of a replica that held %d", seed, w.held(), had)
		}
	}
}

// TestNeverTooMuch is a random history. World checks all the time; in the end, all slots are used.
func TestNeverTooMuch(t *testing.T) {
	for seed := range uint64(60) {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { anything(t, seed) }) {
			return
		}
	}
}

func anything(t *testing.T, seed uint64) {
	w := newWorld(t, seed, budget.Limits{Tasks: 1 + int(seed%9), TasksPerHost: int(seed % 5)})
	w.delay = time.Duration(1+seed%4) * 200 * time.Millisecond
	w.reorder = seed%2 == 1
	w.failures = true
	w.some(1 + int(seed%4))
	groups := []string{"h1", "h2", "i1", "-1", "-2"}
	for range 150 {
		r := w.replicas[w.rand.IntN(len(w.replicas))]
		switch n := w.rand.IntN(40); {
		case n == 0 && len(w.replicas) < 6:
			w.join()
		case n == 1 && len(w.replicas) > 1:
			w.kill(r)
		case n == 2:
			w.lead(r)
		case n == 3:
			// To one and back before the others have seen it.
			was := w.leader
			w.lead(r)
			w.run(w.random(w.delay))
			for _, o := range w.replicas {
				if o.session == was {
					w.lead(o)
				}
			}
		case n == 4:
			r.own[claimsKey] = "?" // for a moment
			r.send()
		default:
			r.wants(groups[w.rand.IntN(len(groups))], w.rand.IntN(12))
		}
		w.run(w.random(2 * w.delay))
	}
	w.reorder = false // the last published version is seen in the end
	for _, r := range w.replicas {
		r.send()
		clear(r.missing)
		for _, g := range groups {
			r.wants(g, 0)
		}
	}
	w.run(2 * time.Minute)
	if w.held() != 0 {
		t.Fatalf("%d slots are held without a demand", w.held())
	}
	for _, r := range w.replicas {
		if u := r.budget.Usage(); len(w.replicas) > 1 && u.Using != 0 {
			w.log()
			t.Fatalf("%s may use %d slots and wants none", r.session, u.Using)
		}
	}
	r := w.replicas[w.rand.IntN(len(w.replicas))]
	for _, o := range w.replicas {
		o.length = time.Hour
		o.budget.Forget("-1")
		o.budget.Forget("-2")
		for _, g := range groups {
			o.budget.Forget(g)
		}
	}
	r.wants("-", 100)
	w.run(5 * time.Second)
	if r.held() != w.limits.Tasks {
		t.Fatalf("%d slots are held of %d that one could use", r.held(), w.limits.Tasks)
	}
}
