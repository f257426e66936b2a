package budget

import "time"

// Clock is the time that a budget lives by.
type Clock struct {
	// Now returns the current time.
	Now func() time.Time
	// AfterFunc calls f once, d from now, in any goroutine but not before it has returned; stop prevents that
	// if it is not too late.
	AfterFunc func(d time.Duration, f func()) (stop func())
}

// systemClock is the real one.
func systemClock() Clock {
	return Clock{
		Now: time.Now,
		AfterFunc: func(d time.Duration, f func()) func() {
			t := time.AfterFunc(d, f)
			return func() { t.Stop() }
		},
	}
}
