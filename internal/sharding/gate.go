package sharding

import "context"

// Key names an object in one of several clusters. It identifies the cluster by UID, so that two names for one cluster do
// not make two owners.
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
	// Epoch with which the right was granted.
	Epoch() Epoch
	// Check returns an error if the right has ended or is about to end. Call it before every side effect. If only a
	// renewal is outstanding, Check waits for it, or for the end of the right.
	Check() error
	// Exit gives the token back. It must be called exactly once.
	Exit()
}

// Gate grants tokens.
type Gate interface {
	// Enter returns a token whose context derives from ctx, or false if this replica must not act on the object now. The
	// caller must not retry then: the replica that can act on the object gets an event, this replica by Listener.Gained.
	Enter(ctx context.Context, key Key) (Token, bool)
	// Raise reports an object whose epoch is not below the replica's own: the shard map has lost its history. The replica
	// raises the shard map's generation above that epoch, and then gains the objects of the bucket again. An epoch more
	// than protocol.MaxRaise above the shard map's generation is ignored.
	Raise(Epoch)
}
