package link

import (
	"context"
	"time"
)

// life is the lifetime of a connection's goroutine.
type life struct {
	ctx    context.Context
	cancel context.CancelFunc
	// before is closed when the previous incarnation has ended; nil if there was none.
	before <-chan struct{}
	// done is closed when run has ended, and with it every goroutine of this incarnation.
	done chan struct{}
	// poke ends a pause early; it holds one wake-up.
	poke chan struct{}
}

func newLife(of context.Context) life {
	ctx, cancel := context.WithCancel(of)
	return life{ctx: ctx, cancel: cancel, done: make(chan struct{}), poke: make(chan struct{}, 1)}
}

// begin waits for the previous incarnation, and for started. It returns false if the connection must end.
func (l *life) begin(started <-chan struct{}) bool {
	// This wait cannot be canceled on purpose: the next incarnation waits for this one, and so for all
	// before it.
	if l.before != nil {
		<-l.before
	}
	select {
	case <-started:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// Wake ends a pause of the connection early; it never blocks.
func (l *life) Wake() {
	select {
	case l.poke <- struct{}{}:
	default:
	}
}

// Pause waits for d or a wake-up; it returns false if the connection must end.
func (l *life) Pause(d time.Duration) bool {
	select {
	case <-l.ctx.Done():
		return false
	case <-time.After(d):
	case <-l.poke:
	}
	return true
}
