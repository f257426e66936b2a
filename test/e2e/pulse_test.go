//go:build e2e

package e2e

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/failover"
)

// pulse records when this process did not run. It observes events only while it runs: that delay is not the product's.
type pulse struct {
	end     context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	stops []period
}

type period struct{ from, to time.Time }

const (
	pulseEvery = 10 * time.Millisecond
	// pulseLate is the minimum delay of a beat that counts: smaller ones occur on any machine.
	pulseLate = 100 * time.Millisecond
)

func newPulse() *pulse {
	ctx, cancel := context.WithCancel(context.Background())
	p, last := &pulse{end: cancel}, time.Now()
	p.running.Go(func() {
		every(ctx, pulseEvery, func() {
			now := time.Now()
			if now.Sub(last) > pulseLate {
				p.mu.Lock()
				p.stops = append(p.stops, period{last, now})
				p.mu.Unlock()
			}
			last = now
		})
	})
	return p
}

// lost is the time that this process did not run between two moments.
func (p *pulse) lost(from, to time.Time) (sum time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, stop := range p.stops {
		begin, end := stop.from, stop.to
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		sum += max(0, end.Sub(begin))
	}
	return sum
}

// shorten subtracts the time that this process did not run from gaps that have ended.
func (p *pulse) shorten(gaps []failover.Gap) []failover.Gap {
	gaps = slices.Clone(gaps)
	for i, g := range gaps {
		if !g.To.IsZero() {
			gaps[i].To = g.To.Add(-p.lost(g.From, g.To))
		}
	}
	return gaps
}

func (p *pulse) stop() {
	p.end()
	p.running.Wait()
}
