package vmgroup

import "time"

const (
	// recordsAtOnce is how many records of one group are written without a wait, and recordInterval the time after which it has one of them back. A group
	// that is edited in a loop then takes little of what is written for its member, and one that is edited now and then never waits.
	recordsAtOnce, recordInterval = 4, 10 * time.Second
	// forgetsWaiting is after what time without a question a record counts as one that did not wait.
	forgetsWaiting = time.Minute
)

// recordPace is how often the record of one group is written. It knows no clock. The zero value has written none.
type recordPace struct {
	// full is when the group has all of recordsAtOnce again.
	full time.Time
	// since is from when on a record waits, or zero, and asked when that was asked last.
	since, asked time.Time
}

// wait is how long the next record waits.
func (r *recordPace) wait(now time.Time) time.Duration {
	if r.strange(now) {
		return 0
	}
	return max(0, r.full.Add(-(recordsAtOnce-1)*recordInterval).Sub(now))
}

// waits notes that a record waits.
func (r *recordPace) waits(now time.Time) {
	if r.since.IsZero() || now.Sub(r.asked) > forgetsWaiting {
		r.since = now
	}
	r.asked = now
}

// wrote notes that a record was written.
func (r *recordPace) wrote(now time.Time) {
	if r.full.Before(now) || r.strange(now) {
		r.full = now
	}
	r.full = r.full.Add(recordInterval)
	r.since, r.asked = time.Time{}, time.Time{}
}

// strange reports whether the clock was set back: full is never later than that after a write.
func (r *recordPace) strange(now time.Time) bool {
	return r.full.Sub(now) > recordsAtOnce*recordInterval
}
