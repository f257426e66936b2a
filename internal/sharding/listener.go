package sharding

// Leader reports whether this replica does the work that exactly one replica must do. *Replica implements it.
type Leader interface {
	// Leading is cheap and safe for concurrent use; see [Replica.Leading].
	Leading() bool
}

// Listener receives changes of a [Replica]. The replica makes one call at a time, in order. No method blocks.
type Listener interface {
	// Lost receives the buckets that another replica can act on from now on.
	Lost(buckets []int)
	// Gained receives the buckets that this replica can act on from now on: it claimed them, or its validity returned after an
	// interruption. The listener must enqueue all due objects of these buckets.
	Gained(buckets []int)
	// LeadershipChanged, PeersChanged and SessionsEnded report that the results of [Replica.Leading], [Replica.Peers] and
	// [Replica.BootDead] possibly changed.
	LeadershipChanged()
	PeersChanged()
	SessionsEnded()
}
