package quota

import (
	"context"
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// requestTimeout bounds one request to the hub.
	requestTimeout = 5 * time.Second
	// conflicts is how often in a row another replica may be first before the claims wait for a moment.
	conflicts = 10
	// width is how many ledgers are written at the same time.
	width = 8
)

// retry is the pause after a failure.
var retry = wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Cap: 10 * time.Second, Steps: math.MaxInt}

// Start implements manager.Runnable: it watches the ledgers, and writes what was claimed, until ctx ends.
func (l *Ledger) Start(ctx context.Context) error {
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { l.opts.Store.Watch(ctx, l) })
	asking := make(chan missingOf)
	defer close(asking)
	watching.Go(func() {
		for due := range asking {
			l.askMembers(ctx, due)
		}
	})
	collect := time.NewTicker(collectInterval)
	defer collect.Stop()
	l.mu.Lock()
	l.head.want() // the first round reads which ledgers count
	l.signal()
	l.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-collect.C:
			select {
			case asking <- l.collect(ctx):
			default: // members are being asked still
			}
		case <-l.wake:
			// Each ledger that failed is tried again by itself.
			l.mu.Lock()
			rests := l.head.resting && !l.head.known
			l.mu.Unlock()
			if !rests {
				_ = l.round(ctx, width, l.rest)
			}
		}
	}
}

// rest lets a ledger wait for a moment after a failure, ever longer. Others are not delayed.
func (l *Ledger) rest(b *book) {
	b.resting = true
	time.AfterFunc(b.pause.Step(), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		b.resting = false
		b.want()
		l.signal()
	})
}

// Flush answers everything that waits now, as [Ledger.Start] does when something comes.
func (l *Ledger) Flush(ctx context.Context) error {
	l.mu.Lock()
	l.head.want()
	l.mu.Unlock()
	return l.round(ctx, 1, func(*book) {})
}
