package operations

import (
	"fmt"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/growth"
)

// aLook is what each submission asks about the running tasks, to find out when they are read next.
func aLook(tb testing.TB, tasks int) func() {
	tb.Helper()
	c := &clock{}
	t := New(c.now, nobody{})
	for i := range tasks {
		h, err := t.Begin(Request{Key: Key{vsphere.GroupKey(fmt.Sprint("m/", i)), 0}, Kind: vsphere.OpClone})
		if err != nil {
			tb.Fatal(err)
		}
		h.Accepted(fmt.Sprint("task-", i), nil)
	}
	return func() {
		for _, task := range t.Tasks() {
			t.Of(task.Ref)
		}
		t.NeedsScan()
		t.Settling()
	}
}

func BenchmarkGrowthOfALook(b *testing.B)             { growth.Benchmark(b, aLook, 32, 320, 3200) }
func TestALookAtTasksIsLinearInTheTasks(t *testing.T) { growth.Linear(t, aLook, 32, 3200) }
