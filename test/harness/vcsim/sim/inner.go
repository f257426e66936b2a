package sim

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// inner contains the tasks that the work of another task starts, by reference, each with the function that unlocks it.
//
// The simulator polls such a task every 10 ms, with the objects of the outer task locked. In virtual time (testing/synctest) that is a
// deadlock: a request that waits for one of these locks stops the clock. So an inner task is locked until it is done. The first poll waits
// for it, and no time has to pass.
type inner struct{ unlocks sync.Map }

// seen locks a starting inner task, and unlocks a finished one.
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
