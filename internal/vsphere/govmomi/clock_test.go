package govmomi_test

import (
	"sync/atomic"
	"time"
)

// clock runs with the real one, and can be put forward.
type clock struct{ ahead atomic.Int64 }

func newClock() *clock { return &clock{} }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// advance puts the clock forward by more than a minute.
func (c *clock) advance() { c.ahead.Add(int64(61 * time.Second)) }

// advanceBy puts the clock forward.
func (c *clock) advanceBy(d time.Duration) { c.ahead.Add(int64(d)) }
