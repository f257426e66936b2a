package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

// RingSeen is the shard map from a moment until the next observation.
type RingSeen struct {
	At time.Time
	// Ring is nil while the object is missing or unreadable.
	Ring *ring.Ring
}

// Session is a replica's session, from its Lease.
type Session struct {
	Name, Boot, Host string
	// State is the last observed state, and "gone" after the Lease was deleted.
	State string
	// Since is the first observation of State. Changed is the last observed change of the Lease, which a live session renews.
	Since, Changed time.Time

	// Version is the last observed version of the Lease.
	Version string
}

// Gone is the State of a session whose Lease was deleted.
const Gone = "gone"

// Timeline contains observations of the shard map and the sessions, from outside of all replicas.
type Timeline struct {
	Rings    []RingSeen
	Sessions map[string]Session
}

// Gap is a time without a live owner of a bucket.
type Gap struct {
	Bucket int
	// From and To. To is zero if the bucket still has no owner.
	From, To time.Time
	// Owner after the gap.
	Owner string
}

// Length of the gap, or the greatest duration if it has not ended.
func (g Gap) Length() time.Duration {
	if g.To.IsZero() {
		return math.MaxInt64
	}
	return g.To.Sub(g.From)
}

// Now returns the newest shard map, or nil.
func (t Timeline) Now() *ring.Ring {
	if len(t.Rings) == 0 {
		return nil
	}
	return t.Rings[len(t.Rings)-1].Ring
}

// At returns the index of the last readable shard map at or before a moment, or -1.
func (t Timeline) At(moment time.Time) int {
	for i, seen := range slices.Backward(t.Rings) {
		if !seen.At.After(moment) && seen.Ring != nil {
			return i
		}
	}
	return -1
}

// holder returns the holder of a bucket in a shard map, or "".
func holder(seen RingSeen, bucket int) string {
	if seen.Ring == nil || bucket >= len(seen.Ring.Buckets) {
		return ""
	}
	return seen.Ring.Buckets[bucket].Holder
}

// Ownerless returns the gaps of the buckets that a session in dead held at a moment. A gap lasts from then until a session that is not in
// dead held the bucket.
func (t Timeline) Ownerless(moment time.Time, dead func(session string) bool) []Gap {
	start := t.At(moment)
	if start < 0 {
		return nil
	}
	var gaps []Gap
	for bucket := range t.Rings[start].Ring.Buckets {
		if h := holder(t.Rings[start], bucket); h == "" || !dead(h) {
			continue
		}
		gap := Gap{Bucket: bucket, From: moment}
		for _, seen := range t.Rings[start+1:] {
			if h := holder(seen, bucket); h != "" && !dead(h) {
				gap.To, gap.Owner = seen.At, h
				break
			}
		}
		gaps = append(gaps, gap)
	}
	return gaps
}

// Released returns the gaps of the buckets that a session in leaving held at a moment. A gap lasts from the release until the next session
// held the bucket. A direct change of holder has a gap of length zero. A bucket without a release is omitted.
func (t Timeline) Released(moment time.Time, leaving func(session string) bool) []Gap {
	start := t.At(moment)
	if start < 0 {
		return nil
	}
	var gaps []Gap
	for bucket := range t.Rings[start].Ring.Buckets {
		if h := holder(t.Rings[start], bucket); h == "" || !leaving(h) {
			continue
		}
		gap := Gap{Bucket: bucket}
		for _, seen := range t.Rings[start+1:] {
			h := holder(seen, bucket)
			if h != "" && leaving(h) {
				continue
			}
			if gap.From.IsZero() {
				gap.From = seen.At
			}
			if h != "" {
				gap.To, gap.Owner = seen.At, h
				break
			}
		}
		if !gap.From.IsZero() {
			gaps = append(gaps, gap)
		}
	}
	return gaps
}

// Move is a change of a bucket's holder.
type Move struct {
	At       time.Time
	Bucket   int
	From, To string
}

// String describes the move.
func (m Move) String() string {
	return fmt.Sprintf("%s bucket %d: %s to %s", m.At.Format(Clock), m.Bucket, cmp.Or(m.From, "none"), cmp.Or(m.To, "none"))
}

// Moves returns the changes of holders after a moment. A shard map that is missing for a while causes no moves if it returns unchanged.
func (t Timeline) Moves(moment time.Time) []Move {
	var moves []Move
	last := t.At(moment)
	if last < 0 {
		return nil
	}
	for i, seen := range t.Rings {
		if i <= last || seen.Ring == nil {
			continue
		}
		for bucket := range max(len(seen.Ring.Buckets), len(t.Rings[last].Ring.Buckets)) {
			if from, to := holder(t.Rings[last], bucket), holder(seen, bucket); from != to {
				moves = append(moves, Move{At: seen.At, Bucket: bucket, From: from, To: to})
			}
		}
		last = i
	}
	return moves
}

// Of returns a function that reports whether a session belongs to a process with one of the boots.
func (t Timeline) Of(boots ...string) func(session string) bool {
	return func(session string) bool { return slices.Contains(boots, t.Sessions[session].Boot) }
}

// BootOf returns the live process of a host, which is the one whose session changed last, or "".
func (t Timeline) BootOf(host string) string {
	var newest Session
	for _, s := range t.Sessions {
		if s.Host == host && s.State != Gone && s.State != "fenced" && (newest.Name == "" || s.Changed.After(newest.Changed)) {
			newest = s
		}
	}
	return newest.Boot
}

// Shares returns the number of buckets of each host. Buckets without a holder count under "".
func (t Timeline) Shares() map[string]int {
	shares := map[string]int{}
	if now := t.Now(); now != nil {
		for _, lock := range now.Buckets {
			shares[t.Sessions[lock.Holder].Host]++
		}
	}
	return shares
}

// Percentile returns the length that share (0 to 1) of the gaps do not exceed, or 0 if there are none.
func Percentile(gaps []Gap, share float64) time.Duration {
	if len(gaps) == 0 {
		return 0
	}
	lengths := make([]time.Duration, 0, len(gaps))
	for _, g := range gaps {
		lengths = append(lengths, g.Length())
	}
	slices.Sort(lengths)
	return lengths[max(0, int(math.Ceil(share*float64(len(lengths))))-1)]
}
