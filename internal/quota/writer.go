package quota

import (
	"context"
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// requestTimeout limits one request to the hub.
	requestTimeout = 5 * time.Second
	// conflicts is the number of consecutive conflicts with other replicas before the claims pause.
	conflicts = 10
	// width is the number of ledgers that are written at the same time.
	width = 8
)

// retry is the pause after a failure.
var retry = wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Cap: 10 * time.Second, Steps: math.MaxInt}

// Start implements manager.Runnable: it watches the ledgers, and writes claims, until ctx ends.
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
			default: // the previous questions to members still run
			}
		case <-l.wake:
			// Each failed ledger schedules its own retry.
			l.mu.Lock()
			rests := l.head.resting && !l.head.known
			l.mu.Unlock()
			if !rests {
				_ = l.round(ctx, width, l.rest)
			}
		}
	}
}

// rest pauses a ledger after a failure, each time longer. Other ledgers are not delayed.
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

// Flush does all work that waits now, as [Ledger.Start] does.
func (l *Ledger) Flush(ctx context.Context) error {
	l.mu.Lock()
	l.head.want()
	l.mu.Unlock()
	return l.round(ctx, 1, func(*book) {})
}
