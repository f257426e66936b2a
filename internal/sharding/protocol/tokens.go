package protocol

import "errors"

var (
	// ErrLost means that this replica does not hold the bucket any more. Another replica does the remaining work.
	ErrLost = errors.New("another replica may act on this object now")
	// ErrYielding means that the bucket is about to be released; the next holder does the remaining work.
	ErrYielding = errors.New("this object is being handed to another replica")
	// ErrShort means that too little validity is left to begin a call. The next renewal, or the end of validity,
	// changes that.
	ErrShort = errors.New("the right to act on this object is about to end unless it is renewed")
)

// Token is the right to act on the objects of one bucket for the length of one reconcile.
type Token struct {
	Bucket             int
	Generation, Number int64

	session string
	over    bool
}

// Enter grants a token, or returns false if the replica cannot act on the bucket.
func (r *Replica) Enter(now Instant, bucket int) (*Token, bool) {
	s := &r.locks[bucket]
	if !r.Holds(now, bucket) {
		return nil, false
	}
	s.tokens++
	return &Token{Bucket: bucket, Generation: r.view.ring.Generation, Number: s.number, session: r.session.name}, true
}

// Exit returns a token. A second call has no effect.
func (r *Replica) Exit(t *Token) {
	if !t.over {
		t.over = true
		r.locks[t.Bucket].tokens--
	}
}

// Releasable reports whether a bucket waits to be released and has no calls in flight any more.
func (r *Replica) Releasable(bucket int) bool {
	s := &r.locks[bucket]
	return s.held && s.yielding && s.tokens == 0
}

// Alive reports whether work that began with a token can continue.
func (r *Replica) Alive(now Instant, t *Token) bool {
	s := &r.locks[t.Bucket]
	return !t.over && s.held && s.number == t.Number && r.session.name == t.session && r.Valid(now)
}

// Check returns nil if a call with side effects can be sent now with a token; otherwise ErrLost, ErrYielding or
// ErrShort.
func (r *Replica) Check(now Instant, t *Token) error {
	switch {
	case !r.Alive(now, t):
		return ErrLost
	case r.locks[t.Bucket].yielding:
		return ErrYielding
	case r.Left(now) < r.cfg.Timings.Submit:
		return ErrShort
	}
	return nil
}
