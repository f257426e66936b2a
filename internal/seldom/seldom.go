// Package seldom limits how often the operator reports, in an event or a log line, an occurrence that third parties can cause at any rate.
package seldom

import (
	"sync"
	"time"
)

// Told counts occurrences since the last report. The zero value is ready for use, also by several goroutines. It keeps each key for its lifetime, so
// there must be few different keys.
type Told[K comparable] struct {
	mu   sync.Mutex
	told map[K]telling
}

type telling struct {
	at time.Time
	// more is the number of occurrences since then.
	more int
}

// Next counts an occurrence. tell reports whether to report it, at most once in each interval. more is the number of occurrences since the last
// report.
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
