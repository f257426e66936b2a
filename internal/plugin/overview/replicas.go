package overview

import (
	"cmp"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/shards"
)

// skew is how far the clock of this computer can differ from that of a replica.
const skew = time.Minute

// Replicas are the replicas of the operator that show a sign of life.
type Replicas struct {
	// Number of replicas that hold buckets, and of the Buckets that they hold, Of how many. A replica that starts or ends holds none.
	Number, Buckets, Of int
	// Leader is the name of the Pod that leads, or empty.
	Leader string
}

// ReplicasOf counts the replicas of a shard map. A Lease that was not renewed for longer than other replicas wait, and the clocks can differ, does not count.
func ReplicasOf(s shards.Snapshot, now time.Time) (r Replicas) {
	alive := map[string]bool{}
	for _, session := range s.Sessions {
		if now.Sub(session.Renewed) > s.Ring.Settings.Patience+skew {
			continue
		}
		alive[session.Session] = true
		if s.Ring.Leader.Holder == session.Session {
			r.Leader = cmp.Or(session.Host, session.Session)
		}
	}
	holders := map[string]bool{}
	for _, lock := range s.Ring.Buckets {
		if alive[lock.Holder] {
			r.Buckets++
			holders[lock.Holder] = true
		}
	}
	r.Number, r.Of = len(holders), len(s.Ring.Buckets)
	return r
}

// Well reports whether each bucket has a replica that can act, and a replica leads.
func (r Replicas) Well() bool { return r.Number > 0 && r.Buckets == r.Of && r.Leader != "" }
