package shardingtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
)

// ErrKilled is the error in a process that was killed.
var ErrKilled = errors.New("the process was killed")

// Process is the process of a replica. It must be created in the bubble.
type Process struct {
	begin time.Time
	rate  float64
	dead  chan struct{}

	mu sync.Mutex
	// set is by how much the time of day was set.
	set time.Duration
	// stopped is the frozen clock reading while the process is stopped, or nil.
	stopped *protocol.Instant
	// going is closed while the process is not stopped.
	going     chan struct{}
	continued []func()
}

// NewProcess starts a process whose clocks run at a rate: 1.02 is two percent fast.
func NewProcess(rate float64) *Process {
	p := &Process{begin: time.Now(), rate: rate, dead: make(chan struct{}), going: make(chan struct{})}
	close(p.going)
	return p
}

// Clock is a protocol.Clock.
func (p *Process) Clock() protocol.Instant {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now()
}

func (p *Process) now() protocol.Instant {
	if p.stopped != nil {
		return *p.stopped
	}
	mono := time.Duration(float64(time.Since(p.begin)) * p.rate)
	return protocol.Instant{Mono: mono, Wall: p.begin.Add(mono + p.set).Round(0)}
}

// SetWall sets the time of day forward, or back.
func (p *Process) SetWall(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set += by
}

// Stop is SIGSTOP.
func (p *Process) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped == nil {
		now := p.now()
		p.stopped, p.going = &now, make(chan struct{})
	}
}

// Continue is SIGCONT. The clocks have advanced meanwhile.
func (p *Process) Continue() {
	p.mu.Lock()
	if p.stopped == nil {
		p.mu.Unlock()
		return
	}
	p.stopped = nil
	close(p.going)
	continued := p.continued
	p.mu.Unlock()
	for _, f := range continued {
		f()
	}
}

// Stopped reports whether the process is stopped.
func (p *Process) Stopped() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped != nil
}

func (p *Process) onContinue(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.continued = append(p.continued, f)
}

// Kill is SIGKILL: from now on, the process has no effect on the outside. Call it once. The owner of its goroutines must end them.
func (p *Process) Kill() { close(p.dead) }

// Alive reports whether the process has not been killed.
func (p *Process) Alive() bool {
	select {
	case <-p.dead:
		return false
	default:
		return true
	}
}

// Turn returns when the process can interact with the outside: at once unless it is stopped, and with ErrKilled if it was killed.
func (p *Process) Turn() error {
	for {
		p.mu.Lock()
		going := p.going
		p.mu.Unlock()
		select {
		case <-p.dead:
			return ErrKilled
		case <-going:
			if !p.Alive() {
				return ErrKilled
			}
			if !p.Stopped() {
				return nil
			}
		}
	}
}

// LateTurn is Turn for events that would end rights. In a process that resumes after a stop, the order of goroutines is undefined. The
// worst order is the one in which holders of rights run first.
func (p *Process) LateTurn() error {
	held := p.Stopped()
	if err := p.Turn(); err != nil || !held {
		return err
	}
	return p.After(context.Background(), Trip)
}

// After returns ErrKilled or ctx's error if the process is killed, or ctx ends, before d has passed.
func (p *Process) After(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.dead:
		return ErrKilled
	}
}
