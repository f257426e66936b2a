package sim

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// inner are the tasks that the work of another task starts, by reference, each with the function that unlocks it.
//
// The simulator polls such a task every 10 ms, with the objects of the outer task locked. In virtual time
// (testing/synctest) that is a deadlock: a request that waits for one of these locks keeps the time from passing. An
// inner task is therefore locked until it is done, so the first poll waits for it and no time has to pass.
type inner struct{ unlocks sync.Map }

// seen locks an inner task that begins to run, and unlocks one that is done.
func (i *inner) seen(ctx *simulator.Context, t *simulator.Task) {
	switch t.Info.State {
	case types.TaskInfoStateRunning:
		if _, locked := i.unlocks.Load(t.Self); !locked {
			i.unlocks.Store(t.Self, ctx.Map.AcquireLock(ctx, t))
		}
	case types.TaskInfoStateSuccess, types.TaskInfoStateError:
		if unlock, ok := i.unlocks.LoadAndDelete(t.Self); ok {
			unlock.(func())()
		}
	}
}
