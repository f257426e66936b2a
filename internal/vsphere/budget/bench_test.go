package budget

import (
	"fmt"
	"testing"
)

func BenchmarkAllocate1000Waiting(b *testing.B) {
	s := snapshot{limits: Limits{Tasks: 8, TasksPerHost: 4}}
	for i := range 1000 {
		s.waiters = append(s.waiters, waiter{group: fmt.Sprint(i), since: uint64(i * 7919 % 1000),
			wants: []want{{host: fmt.Sprint("host-", i%10), count: 10}}})
	}
	b.ReportAllocs()
	for b.Loop() {
		allocate(s)
	}
}

// BenchmarkTask1000Waiting is the life of one task of the group whose turn it is: claim, start, release, end.
func BenchmarkTask1000Waiting(b *testing.B) {
	var turn []string
	budget := New(Limits{Tasks: 8, TasksPerHost: 4}, func(g string) { turn = append(turn, g) })
	var ends []func(bool)
	for i := range 1008 {
		name := fmt.Sprint(i)
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
}
