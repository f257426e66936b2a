package ring

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// InvalidError reports an invalid shard map: it was not written by Encode, or was edited since. A retry does not
// help until the shard map was written anew.
type InvalidError struct {
	// Reason is for display.
	Reason string
	// Format is the format that the data names, if this version does not know it; otherwise 0. A later version
	// possibly wrote it.
	Format int
	// Err is the parser's error, or nil.
	Err error
}

func (e *InvalidError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("not a valid shard map: %s: %v", e.Reason, e.Err)
	}
	return "not a valid shard map: " + e.Reason
}

func (e *InvalidError) Unwrap() error { return e.Err }

func invalid(format string, args ...any) error {
	return &InvalidError{Reason: fmt.Sprintf(format, args...)}
}

// check returns nil if the shard map can be stored and read back unchanged, otherwise an *InvalidError.
func check(r Ring) error {
	if r.Settings.Buckets < 1 || r.Settings.Buckets != len(r.Buckets) {
		return invalid("%d buckets are set, there are %d", r.Settings.Buckets, len(r.Buckets))
	}
	if !utf8.ValidString(r.Settings.Hash) {
		return invalid("the name of the hash function is not UTF-8")
	}
	for _, number := range []struct {
		name                 string
		value, lowest, upper int64
	}{
		{"validity", int64(r.Settings.Validity), 0, math.MaxInt64},
		{"patience", int64(r.Settings.Patience), 0, math.MaxInt64},
		{"generation", r.Generation, 1, math.MaxInt64},
		{"rebuilt", r.Rebuilt, 0, r.Generation},
		{"sequence", r.Sequence, 0, math.MaxInt64},
	} {
		if number.value < number.lowest || number.value > number.upper {
			return invalid("%s %d is not between %d and %d", number.name, number.value, number.lowest, number.upper)
		}
	}
	if reason := r.Leader.problem(); reason != "" {
		return invalid("the leader's lock: %s", reason)
	}
	for b, lock := range r.Buckets {
		if reason := lock.problem(); reason != "" {
			return invalid("bucket %d: %s", b, reason)
		}
	}
	return nil
}

// problem returns the reason why the lock cannot be stored, "" if it can.
func (s Lock) problem() string {
	switch {
	case s.Number < 0:
		return fmt.Sprintf("its number is %d", s.Number)
	case !utf8.ValidString(s.Holder):
		return "its holder is not UTF-8"
	}
	return ""
}
