package effect

import "time"

const (
	// RecordsAtOnce is the number of records of one group that are written without a wait. After recordInterval the group has one
	// of them back. So a group that is edited in a loop takes little of the budget of its member, and others never wait.
	RecordsAtOnce  = 4
	recordInterval = 10 * time.Second
	// forgetsWaiting is the time without a request after which a record counts as one that did not wait.
	forgetsWaiting = time.Minute
)

// RecordPace is how often the record of one group is written. It has no clock. The zero value has written none.
type RecordPace struct {
	// full is when the group has all of RecordsAtOnce again.
	full time.Time
	// since is when a record began to wait, or zero, and asked the time of the last question.
	since, asked time.Time
}

// wait returns how long the next record waits.
func (r *RecordPace) wait(now time.Time) time.Duration {
	if r.strange(now) {
		return 0
	}
	return max(0, r.full.Add(-(RecordsAtOnce-1)*recordInterval).Sub(now))
}

// waits notes that a record waits.
func (r *RecordPace) waits(now time.Time) {
	if r.since.IsZero() || now.Sub(r.asked) > forgetsWaiting {
		r.since = now
	}
	r.asked = now
}

// wrote notes that a record was written.
func (r *RecordPace) wrote(now time.Time) {
	if r.full.Before(now) || r.strange(now) {
		r.full = now
	}
	r.full = r.full.Add(recordInterval)
	r.since, r.asked = time.Time{}, time.Time{}
}

// strange reports whether the clock was set back: full is never later than that after a write.
func (r *RecordPace) strange(now time.Time) bool {
	return r.full.Sub(now) > RecordsAtOnce*recordInterval
}
