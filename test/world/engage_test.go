package world

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// A replica engages a member again after each rotation of its credential, for example each hour. It is not parallel, because it measures the process.
func TestTwoHundredEngagementsOfAMemberLeaveNothing(t *testing.T) {
	operators(t, 1, func(w *World) {
		w.Member.Create("web", 2)
		replica := w.Start("a")
		if !w.Shared(time.Minute) {
			t.Fatal("the replica does not hold all buckets")
		}
		operator, ok := replica.work.(*Operator)
		if !ok {
			t.Fatalf("the replica runs %T", replica.work)
		}
		engage := func(times int) (goroutines int, heap uint64) {
			for range times {
				ctx, end := context.WithCancel(w.t.Context())
				again := *operator.member
				if err := operator.manager.Engage(ctx, multicluster.ClusterName(v1alpha1.LocalMember), &again); err != nil {
					t.Fatal(err)
				}
				w.Pass(10 * time.Millisecond)
				end()
				synctest.Wait()
			}
			runtime.GC()
			runtime.GC()
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			return runtime.NumGoroutine(), memory.HeapAlloc + memory.StackInuse
		}
		goroutines, heap := engage(50)
		for range 5 { // a measurement of the heap varies by 100 KiB, also the first one, and a leak is between each two
			more, larger := engage(200)
			if more <= goroutines+2 && larger <= heap+64<<10 {
				return
			}
			t.Logf("200 engagements leave %d goroutines and %d bytes", more-goroutines, int64(larger)-int64(heap))
			heap = larger
		}
		t.Error("engagements of a member leave something")
	})
}
