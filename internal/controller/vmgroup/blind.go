package vmgroup

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// blindPatience is how long a group's VMs may be out of sight before that is reported. Every start of the operator,
// every new session and every swap of a connection takes a moment in which nothing is known; a thousand groups that
// each say so, and then take it back, would be two thousand writes about nothing. Nothing is created or deleted
// meanwhile, reported or not.
const blindPatience = 5 * time.Second

// blind remembers since when the VMs of groups are out of sight.
type blind struct {
	mu    sync.Mutex
	since map[types.UID]time.Time
}

func newBlind() *blind { return &blind{since: map[types.UID]time.Time{}} }

// wait returns for how long a group that is out of sight need not say so yet; 0 if it is in sight, or was not for too
// long.
func (b *blind) wait(uid types.UID, isBlind bool, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !isBlind {
		delete(b.since, uid)
		return 0
	}
	since, ok := b.since[uid]
	if !ok {
		since = now
		b.since[uid] = since
	}
	return max(0, since.Add(blindPatience).Sub(now))
}

func (b *blind) forget(uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.since, uid)
}
