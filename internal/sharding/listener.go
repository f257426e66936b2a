package sharding

// Leader says whether this replica does what exactly one replica does. *Replica implements it.
type Leader interface {
	// Leading is cheap and safe for concurrent use; see [Replica.Leading].
	Leading() bool
}

// Listener learns what changed for a [Replica]. The replica makes one call at a time, in order. No method blocks.
type Listener interface {
	// Lost gets the buckets that another replica can act on from now on.
	Lost(buckets []int)
	// Gained gets the buckets that this replica can act on from now on: it claimed them, or its validity was interrupted and is back. The
	// listener has everything looked at that is due for their objects.
	Gained(buckets []int)
	// LeadershipChanged, PeersChanged and SessionsEnded say that [Replica.Leading], [Replica.Peers] and [Replica.BootDead] can answer
	// differently.
	LeadershipChanged()
	PeersChanged()
	SessionsEnded()
}
