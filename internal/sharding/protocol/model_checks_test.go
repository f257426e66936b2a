package protocol

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

// record is the log of an omniscient observer.
type record struct {
	sessions map[string]*process
	// shown is, for the objects of a bucket, the epoch of the last work on them.
	shown []struct {
		epoch   epoch
		session string
	}
	calls [][]*call // by bucket, in the order of sending
	// holders contains the last holder of each bucket, moves the number of changes, ringWrites the times of shard map
	// writes.
	holders    []string
	moves      int
	ringWrites []time.Duration
	fences     []fencing
	violations []string

	healed   time.Duration
	requests map[*process]int // by the time of healing
	// refused reconciles, requests executed late, drains that took too long, calls open longer than their right
	// because their client was paused.
	refused, late, aborted, zombies int
}

// fencing of a session. It was alive if its process was.
type fencing struct {
	at      time.Duration
	session string
	alive   bool
}

func newRecord(buckets int) record {
	r := record{sessions: map[string]*process{}, calls: make([][]*call, buckets), holders: make([]string, buckets)}
	r.shown = append(r.shown, make([]struct {
		epoch   epoch
		session string
	}, buckets)...)
	return r
}

func (r *record) violation(s *sim, format string, args ...any) {
	r.violations = append(r.violations, fmt.Sprintf("%v: ", s.now)+fmt.Sprintf(format, args...))
}

// sent records a call. Epochs of different sessions' calls must increase.
func (r *record) sent(c *call) {
	r.calls[c.bucket] = append(r.calls[c.bucket], c)
	if c.late {
		return
	}
	shown := &r.shown[c.bucket]
	if shown.session != "" && (shown.session != c.session || shown.epoch.number != c.epoch.number) && !shown.epoch.before(c.epoch) {
		r.violation(c.process.sim, "bucket %d: %s acts under %v after %s under %v", c.bucket, c.session, c.epoch, shown.session, shown.epoch)
	}
	shown.epoch, shown.session = c.epoch, c.session
}

func (r *record) leaseWritten(s *sim, l Lease) {
	if l.State != Ready || l.Renewals < 2 {
		s.tell("lease: %s is %s renewals %d %s", l.Session, l.State, l.Renewals, l.FencedBy)
	}
	p := r.sessions[l.Session]
	if p == nil {
		r.violation(s, "%s is written, but no replica ever had that session", l.Session)
		return
	}
	if l.State == Fenced {
		r.fences = append(r.fences, fencing{s.now, l.Session, !p.dead && p.replica.Session() == l.Session})
	}
}

func (r *record) ringWritten(s *sim, before *StoredRing, after ring.Ring) {
	r.ringWrites = append(r.ringWrites, s.now)
	s.tell("shard map: generation %d sequence %d leader %v buckets %v", after.Generation, after.Sequence, after.Leader, after.Buckets)
	for b, lock := range after.Buckets {
		if lock.Holder != "" && r.sessions[lock.Holder] == nil {
			r.violation(s, "bucket %d: no replica ever had the session %s", b, lock.Holder)
		}
		if lock.Holder != "" && lock.Holder != r.holders[b] {
			r.holders[b] = lock.Holder
			r.moves++
		}
		if before == nil || s.hub.damaged || before.Ring.Generation != after.Generation {
			continue
		}
		was := before.Ring.Buckets[b]
		if lock.Number < was.Number || lock.Holder != "" && lock.Holder != was.Holder && lock.Number != was.Number+1 {
			r.violation(s, "bucket %d: %v is followed by %v", b, was, lock)
		}
	}
	if before != nil && !s.hub.damaged && before.Ring.Generation > after.Generation && !s.setup.hubLoses {
		r.violation(s, "generation %d is followed by %d", before.Ring.Generation, after.Generation)
	}
}

// overlaps returns the sessions whose calls on a bucket overlap.
func (r *record) overlaps() (found []string) {
	for _, pair := range r.overlapping() {
		o, c := pair[0], pair[1]
		found = append(found, fmt.Sprintf("bucket %d: %s under %v from %v to %v, and %s under %v from %v", c.bucket,
			o.session, o.epoch, o.started, o.ended, c.session, c.epoch, c.started))
	}
	return found
}

// overlapping returns the pairs of different sessions' calls that overlap on a bucket.
func (r *record) overlapping() (found [][2]*call) {
	for _, calls := range r.calls {
		var open []*call
		for _, c := range calls {
			if c.late {
				continue
			}
			open = slices.DeleteFunc(open, func(o *call) bool { return o.ended <= c.started })
			for _, o := range open {
				if o.session != c.session {
					found = append(found, [2]*call{o, c})
				}
			}
			open = append(open, c)
		}
	}
	return found
}

// lockState is the state of one bucket as the objects see it.
type lockState struct {
	session string
	epoch   epoch
	calls   int
}

// lockInput begins or ends a call.
type lockInput struct {
	session string
	epoch   epoch
	bucket  int
	end     bool
}

// lockModel defines the allowed histories of calls: a session can act while no other one does, and under a later
// epoch than all before it.
var lockModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byBucket := map[int][]porcupine.Operation{}
		for _, o := range history {
			b := o.Input.(lockInput).bucket
			byBucket[b] = append(byBucket[b], o)
		}
		all := make([][]porcupine.Operation, 0, len(byBucket))
		for _, part := range byBucket {
			all = append(all, part)
		}
		return all
	},
	Init: func() any { return lockState{} },
	Step: func(state, input, _ any) (bool, any) {
		l, in := state.(lockState), input.(lockInput)
		if in.end {
			l.calls--
			return l.session == in.session && l.calls >= 0, l
		}
		if l.session != in.session {
			if l.calls > 0 || l.session != "" && !l.epoch.before(in.epoch) {
				return false, l
			}
			l.session = in.session
		}
		if l.epoch.before(in.epoch) {
			l.epoch = in.epoch
		}
		l.calls++
		return true, l
	},
	Equal: func(a, b any) bool { return a == b },
}

// linearizable checks the calls with a checker that is independent of this model. Each call begins between its check
// and its sending, and ends when it was closed.
func (r *record) linearizable(end time.Duration) bool {
	var history []porcupine.Operation
	for _, calls := range r.calls {
		for _, c := range calls {
			if c.late {
				continue
			}
			in := lockInput{session: c.session, epoch: c.epoch, bucket: c.bucket}
			history = append(history, porcupine.Operation{Input: in, Call: int64(c.checked), Return: int64(c.started)})
			in.end = true
			closed := int64(max(min(c.ended, end), c.started+1))
			history = append(history, porcupine.Operation{Input: in, Call: closed, Return: closed})
		}
	}
	slices.SortStableFunc(history, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return porcupine.CheckOperations(lockModel, history)
}

// owned checks that each bucket has exactly one holder that can act, and that one replica leads.
func (s *sim) owned() (problems []string) {
	leaders := 0
	for b := range s.setup.buckets {
		var holders []string
		for _, p := range s.processes {
			if !p.dead && p.replica.locks[b].held && p.replica.Valid(p.clock()) {
				holders = append(holders, p.replica.Session())
			}
		}
		if len(holders) != 1 {
			problems = append(problems, fmt.Sprintf("%v: bucket %d is held by %v", s.now, b, holders))
		}
	}
	for _, p := range s.processes {
		if !p.dead && p.replica.Leading(p.clock()) {
			leaders++
		}
	}
	if leaders != 1 {
		problems = append(problems, fmt.Sprintf("%v: %d lead", s.now, leaders))
	}
	return problems
}

// quiet checks the last part of a run, in which no work was left.
func (s *sim) quiet(end time.Duration) (problems []string) {
	writes := 0
	for _, at := range s.record.ringWrites {
		if at > s.record.healed+time.Minute {
			writes++
		}
	}
	if writes > 0 {
		problems = append(problems, fmt.Sprintf("%d writes of the shard map after a quiet minute", writes))
	}
	for _, p := range s.processes {
		if p.dead {
			continue
		}
		rate := float64(p.requests-s.record.requests[p]) / (end - s.record.healed).Seconds()
		if rate > 4 {
			problems = append(problems, fmt.Sprintf("%s sends %.1f requests a second", p.name, rate))
		}
	}
	return problems
}
