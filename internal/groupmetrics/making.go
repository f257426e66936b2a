package groupmetrics

import (
	"sync"
	"time"

	"k8s.io/utils/lru"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// most is how many groups are remembered whose VMs are being made. Those of which nothing was heard for longest are
// forgotten first: their VMs count in no time.
const most = 10_000

// making remembers since when VMs are wanted that were not ready yet.
type making struct {
	mu     sync.Mutex
	groups *lru.Cache
}

// one is a VM that is being made.
type one struct{ ordinal, incarnation int32 }

func newMaking() making { return making{groups: lru.New(most)} }

// see takes a status that was stored, and returns how long the VMs took that are ready for the first time. A VM that was
// seen neither as wanted nor as being cloned is left out: it was ready before, or another replica has seen it.
func (m *making) see(key vsphere.GroupKey, next *v1alpha1.VmGroupStatus, now time.Time) (took []time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var before map[one]time.Time
	if found, ok := m.groups.Get(key); ok {
		before = found.(map[one]time.Time)
	}
	after := map[one]time.Time{}
	for i := range next.VMs {
		vm := &next.VMs[i]
		is := one{vm.Ordinal, vm.Incarnation}
		since, known := before[is]
		switch vm.Phase {
		case v1alpha1.VMPending, v1alpha1.VMCloning:
			if !known {
				since = now
			}
			after[is] = since
		case v1alpha1.VMStarting, v1alpha1.VMFailed, v1alpha1.VMUnhealthy:
			if known {
				after[is] = since
			}
		case v1alpha1.VMReady:
			if known {
				took = append(took, max(0, now.Sub(since)))
			}
		}
	}
	if len(after) > 0 {
		m.groups.Add(key, after)
	} else {
		m.groups.Remove(key)
	}
	return took
}
