package sharding

import "context"

// Key names an object in one of several clusters. The cluster goes by its UID, so that two names for one
// cluster do not make two owners.
type Key struct {
	ClusterUID, Namespace, Name string
}

// Epoch is a fencing number, ordered by Generation, then Number.
type Epoch struct {
	Generation, Number int64
}

// Token is the right to act on one object for the length of one reconcile.
type Token interface {
	// Context ends when the right ends.
	Context() context.Context
	// Epoch under which the right was given.
	Epoch() Epoch
	// Check returns an error when the right has ended or is about to. It is asked before every side effect. While
	// only a renewal is outstanding it waits for it, or for the end of the right.
	Check() error
	// Exit gives the token back. It must be called exactly once.
	Exit()
}

// Gate gives tokens.
type Gate interface {
	// Enter returns a token whose context derives from ctx, or false when this replica may not act on the object now.
	// Nothing has to be tried again then: whoever may act on it is told so, this replica by Listener.Gained.
	Enter(ctx context.Context, key Key) (Token, bool)
	// Raise tells that an object carries an epoch that is not below the own one: the ring has lost its memory. The
	// ring's generation is raised above it, after which the objects of the bucket are gained again. One that is more than
	// protocol.MaxRaise above the ring's generation is ignored.
	Raise(Epoch)
}
