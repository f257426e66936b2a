package world

import (
	"context"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

// lag is the delay until a replica learns of changes in its member and in vCenter.
const lag = 2 * time.Millisecond

// feed delivers news to a process in order and with a delay, and not while the process is stopped.
type feed struct {
	process *shardingtest.Process
	added   chan struct{}

	mu    sync.Mutex
	queue []item
}

type item struct {
	due  time.Time
	tell func()
}

func newFeed(p *shardingtest.Process) *feed {
	return &feed{process: p, added: make(chan struct{}, 1)}
}

// add never blocks.
func (f *feed) add(tell func()) {
	f.mu.Lock()
	f.queue = append(f.queue, item{time.Now().Add(lag), tell})
	f.mu.Unlock()
	select {
	case f.added <- struct{}{}:
	default:
	}
}

func (f *feed) first() (item, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		return item{}, false
	}
	next := f.queue[0]
	f.queue = f.queue[1:]
	return next, true
}

// run delivers the added news until ctx ends.
func (f *feed) run(ctx context.Context) {
	for ctx.Err() == nil {
		next, ok := f.first()
		if !ok {
			select {
			case <-f.added:
			case <-ctx.Done():
			}
			continue
		}
		if f.process.After(ctx, time.Until(next.due)) != nil || f.process.Turn() != nil {
			return
		}
		next.tell()
	}
}
