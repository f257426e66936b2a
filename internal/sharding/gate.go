// Package sharding decides which replica of a controller may act on an object, and proves it at the moment of
// each side effect.
//
// A reconcile enters the Gate with the object's Key and gets a Token, or is dropped. The Token's context ends
// when the replica loses the object, and Token.Check is asked again right before every side effect. The
// package knows nothing of what is reconciled: other controllers could use it.
//
// Today there is one implementation, Sole: one replica acts, chosen by the manager's leader election. The ring
// of shards, where replicas divide the objects among themselves, takes its place behind the same interface.
package sharding

import (
	"context"
)

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
	// Check returns an error when the right has ended or is about to. It is asked before every side effect.
	Check() error
	// Exit gives the token back. It must be called exactly once.
	Exit()
}

// Gate gives tokens.
type Gate interface {
	// Enter returns a token whose context derives from ctx, or false when another replica owns the object.
	Enter(ctx context.Context, key Key) (Token, bool)
}
