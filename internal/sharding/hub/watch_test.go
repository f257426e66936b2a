//go:build unix

package hub

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

// picture is a Sink's view of the hub.
type picture struct {
	mu       sync.Mutex
	sessions map[string]int64 // renewals
	ring     string           // "", "missing", "invalid" or the sequence
	lists    int
	// single counts single events.
	single int
}

func (p *picture) Leases(all []protocol.StoredLease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lists++
	p.sessions = map[string]int64{}
	for _, one := range all {
		p.sessions[one.Session] = one.Renewals
	}
}

func (p *picture) Lease(one protocol.StoredLease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.single++
	p.sessions[one.Session] = one.Renewals
}

func (p *picture) LeaseDeleted(session string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.single++
	delete(p.sessions, session)
}

func (p *picture) Ring(stored protocol.StoredRing) { p.setRing(fmt.Sprint(stored.Ring.Sequence)) }

func (p *picture) RingDeleted() { p.setRing("missing") }

func (p *picture) RingInvalid(_ string, err error) {
	if invalid := (*ring.InvalidError)(nil); errors.As(err, &invalid) {
		p.setRing("invalid")
	}
}

func (p *picture) setRing(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ring = what
}

func (p *picture) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sessions == nil {
		return "no list yet, shard map " + p.ring
	}
	var parts []string
	for _, session := range slices.Sorted(maps.Keys(p.sessions)) {
		parts = append(parts, fmt.Sprintf("%s:%d", session, p.sessions[session]))
	}
	return strings.Join(append(parts, "shard map "+p.ring), " ")
}

func (p *picture) counts() (lists, single int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lists, p.single
}

func TestRetryDelaysGrowAndAreBounded(t *testing.T) {
	for _, test := range []struct {
		failures int
		random   float64
		want     time.Duration
	}{
		{0, 0, retryShortest}, {0, 1, 2 * retryShortest}, {1, 1, 4 * retryShortest}, {2, 0.5, 450 * time.Millisecond},
		{5, 0, retryShortest}, {5, 1, retryLongest}, {1 << 40, 1, retryLongest},
	} {
		if got := retryDelay(test.failures, test.random); got != test.want {
			t.Errorf("after %d failures at %v: %v, want %v", test.failures, test.random, got, test.want)
		}
	}
}
