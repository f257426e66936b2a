package budget

import (
	"fmt"
	"testing"
	"time"
)

// crowds are numbers of waiting groups: the cost of a pass must not grow with them.
var crowds = []int{1000, 5000, 20000}

// crowdOf returns the names of n groups of ten members.
func crowdOf(groups int) []string {
	names := make([]string, groups)
	for i := range names {
		names[i] = fmt.Sprintf("%d/%d", i%10, i)
	}
	return names
}

// BenchmarkPassBesideWaiting is a pass of a group that waits and continues to wait: all slots are taken, or eight are
// kept for groups that have not claimed them.
func BenchmarkPassBesideWaiting(b *testing.B) {
	for _, kept := range []int{0, 8} {
		for _, waiting := range crowds {
			b.Run(fmt.Sprintf("%d-kept/%d", kept, waiting), func(b *testing.B) {
				m := &manual{}
				budget := NewWithClock(Limits{Tasks: 64, TasksPerHost: 8}, unheard, m.clock(), time.Second)
				names, hosts := crowdOf(waiting+64), make([]string, 10)
				for i := range hosts {
					hosts[i] = fmt.Sprint("host-", i)
				}
				hostOf := func(i int) string { return hosts[i/10%10] }
				var ends []func(bool)
				for i, name := range names {
					grant := budget.Acquire(name, hostOf(i), 10)
					for range grant.Granted() {
						ends = append(ends, budget.Start(name, hostOf(i)))
					}
				}
				for _, end := range ends[:kept] {
					end(true)
				}
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					n := len(names) - 1 - i*7919%(waiting/2) // not the groups that are next
					none := budget.Acquire(names[n], "", 0)
					clones := budget.Acquire(names[n], hostOf(n), 9+i%2)
					clones.Release()
					none.Release()
				}
			})
		}
	}
}

// BenchmarkTaskBesideWaiting is the life of one task of the next group: claim, start, release, end.
func BenchmarkTaskBesideWaiting(b *testing.B) {
	for _, waiting := range crowds {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			var turn []string
			budget := New(Limits{Tasks: 8, TasksPerHost: 4}, notify(func(g string) { turn = append(turn, g) }))
			var ends []func(bool)
			for _, name := range crowdOf(waiting + 8) {
				grant := budget.Acquire(name, "", 10)
				if grant.Granted() > 0 {
					ends = append(ends, budget.Start(name, ""))
				}
				grant.Release()
			}
			b.ReportAllocs()
			for b.Loop() {
				ends[0](true)
				ends = ends[1:]
				next := turn[0]
				turn = turn[1:]
				grant := budget.Acquire(next, "", 10)
				ends = append(ends, budget.Start(next, ""))
				grant.Release()
			}
		})
	}
}
