package budget

import "time"

// Clock is the time source of a budget.
type Clock struct {
	// Now returns the current time.
	Now func() time.Time
	// AfterFunc calls f once after d, in any goroutine, but not before AfterFunc has returned. stop prevents the call if
	// it is not too late.
	AfterFunc func(d time.Duration, f func()) (stop func())
}

// systemClock returns the real clock.
func systemClock() Clock {
	return Clock{
		Now: time.Now,
		AfterFunc: func(d time.Duration, f func()) func() {
			t := time.AfterFunc(d, f)
			return func() { t.Stop() }
		},
	}
}
