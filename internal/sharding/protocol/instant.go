package protocol

import "time"

// Instant is a moment as one process sees it, on two clocks. The monotonic clock stops while a machine is suspended, and
// the wall clock can be set. If safety depends on it, the clock on which more time has passed counts.
type Instant struct {
	// Mono is the time since an arbitrary moment in the life of this process. It never goes back.
	Mono time.Duration
	// Wall is the time of day, without a monotonic reading.
	Wall time.Time
}

// Since returns how much time has passed since then on the monotonic clock.
func (i Instant) Since(then Instant) time.Duration { return i.Mono - then.Mono }

// Add returns the instant d later on both clocks.
func (i Instant) Add(d time.Duration) Instant {
	return Instant{Mono: i.Mono + d, Wall: i.Wall.Add(d)}
}

// left returns the time until deadline, on the clock that leaves less.
func (i Instant) left(deadline Instant) time.Duration {
	return min(deadline.Mono-i.Mono, deadline.Wall.Sub(i.Wall))
}

// Clock returns the current time. It must be safe for concurrent use.
type Clock func() Instant

// SystemClock returns the clock of this process.
func SystemClock() Clock {
	start := time.Now()
	return func() Instant {
		now := time.Now()
		return Instant{Mono: now.Sub(start), Wall: now.Round(0)}
	}
}
