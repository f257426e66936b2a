// Package growth measures how the cost of a step grows with the size of what is around it.
package growth

import (
	"fmt"
	"testing"
)

// Subject builds a world of a size, and returns the step to measure in it.
type Subject func(tb testing.TB, size int) (step func())

// Benchmark measures a step at each size, as sub-benchmarks. Their names are the sizes.
func Benchmark(b *testing.B, of Subject, sizes ...int) {
	b.Helper()
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			step := of(b, size)
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
		})
	}
}

// Flat fails the test if a step allocates more in the larger world. Allocations are counted, so that the result does not depend on the machine.
func Flat(t *testing.T, of Subject, small, large int) {
	t.Helper()
	if before, after := allocations(t, of, small), allocations(t, of, large); after > before {
		t.Errorf("a step allocates %.0f times among %d, and %.0f times among %d", before, small, after, large)
	}
}

// Linear fails the test if a step allocates more than the size explains: at most 1.1 times as often for each object.
func Linear(t *testing.T, of Subject, small, large int) {
	t.Helper()
	before, after := allocations(t, of, small), allocations(t, of, large)
	if limit := 1.1 * before * float64(large) / float64(small); after > limit {
		t.Errorf("a step allocates %.0f times among %d, and %.0f times among %d, at most %.0f are linear", before, small, after, large, limit)
	}
}

func allocations(t *testing.T, of Subject, size int) float64 {
	t.Helper()
	const runs = 20
	return testing.AllocsPerRun(runs, of(t, size))
}
