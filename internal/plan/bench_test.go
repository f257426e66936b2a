package plan

import (
	"fmt"
	"testing"
)

// benchmarkCompute is a settled group of n VMs, the most common input.
func benchmarkCompute(b *testing.B, n int32) {
	in := input(n)
	for o := range n {
		healthy(o)(&in)
	}
	if p := Compute(in); !p.Settled {
		b.Fatalf("the group of %d is not settled: %v", n, p.Blockers)
	}
	b.ReportAllocs()
	for b.Loop() {
		Compute(in)
	}
}

func BenchmarkCompute500(b *testing.B) { benchmarkCompute(b, 500) }

func BenchmarkCompute(b *testing.B) {
	for _, n := range []int32{5, 50} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchmarkCompute(b, n) })
	}
}

// BenchmarkCreate500 is the first pass over a new group of the maximum size.
func BenchmarkCreate500(b *testing.B) {
	in := input(500)
	for b.Loop() {
		Compute(in)
	}
}
