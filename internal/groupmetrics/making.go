package groupmetrics

import (
	"sync"
	"time"

	"k8s.io/utils/lru"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// most limits the remembered groups with VMs in preparation. The least recently updated groups are forgotten first, and
// the metric then omits their VMs.
const most = 10_000

// making remembers since when the VMs that are not ready yet are wanted.
type making struct {
	mu     sync.Mutex
	groups *lru.Cache
}

// one is a VM in preparation.
type one struct{ ordinal, incarnation int32 }

func newMaking() making { return making{groups: lru.New(most)} }

// see takes a stored status and returns how long the VMs took that are ready for the first time. It omits VMs that it
// never saw as wanted or cloning: they were ready before, or another replica saw them.
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
