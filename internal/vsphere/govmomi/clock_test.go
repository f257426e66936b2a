package govmomi_test

import (
	"sync/atomic"
	"time"
)

// clock follows the real clock, and can be advanced.
type clock struct{ ahead atomic.Int64 }

func newClock() *clock { return &clock{} }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// advance moves the clock forward by more than a minute.
func (c *clock) advance() { c.ahead.Add(int64(61 * time.Second)) }

// advanceBy moves the clock forward.
func (c *clock) advanceBy(d time.Duration) { c.ahead.Add(int64(d)) }
