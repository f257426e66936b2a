package member

import "time"

// backoff doubles pauses from least to most. Each is spread over half to three halves of its length, so that
// members that went away together do not come back together.
type backoff struct {
	least, most time.Duration
	random      func() float64
	current     time.Duration
}

// next returns the pause before the next attempt; it never exceeds most.
func (b *backoff) next() time.Duration {
	if b.current == 0 {
		b.current = b.least
	} else {
		b.current = min(2*b.current, b.most)
	}
	return min(spread(b.current, b.random()), b.most)
}

// reset makes the next pause the least one.
func (b *backoff) reset() { b.current = 0 }

// spread maps random, in [0, 1), onto half to three halves of d.
func spread(d time.Duration, random float64) time.Duration {
	return d/2 + time.Duration(random*float64(d))
}
