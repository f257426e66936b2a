// Package seldom is about what may happen at any rate, since others cause it, and is told of now and then: in an event, or a line of the log.
package seldom

import (
	"sync"
	"time"
)

// Told counts what happened since it was told of last. The zero value is ready for use, by several goroutines. It remembers each key for good, so keys
// are of a kind of which there are few.
type Told[K comparable] struct {
	mu   sync.Mutex
	told map[K]telling
}

type telling struct {
	at time.Time
	// more happened since.
	more int
}

// Next reports whether it is time to tell of something that happens now, which is once in an interval at most, and how often it happened since it
// was told of last.
func (t *Told[K]) Next(what K, now time.Time, interval time.Duration) (more int, tell bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told == nil {
		t.told = map[K]telling{}
	}
	before, known := t.told[what]
	if known && now.Sub(before.at) < interval {
		before.more++
		t.told[what] = before
		return 0, false
	}
	t.told[what] = telling{at: now}
	return before.more, true
}
