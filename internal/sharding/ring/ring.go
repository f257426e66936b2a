package ring

import "time"

// Settings are the configuration on which all replicas of a shard map must agree.
type Settings struct {
	// Buckets is the number of buckets.
	Buckets int
	// Hash names the function that maps objects to buckets; see HashName.
	Hash string
	// Validity and Patience are the fields of protocol.Timings with these names.
	Validity, Patience time.Duration
}

// Ring is the shard map: the record of the holder of each bucket. It is stored in one object, so that one
// compare-and-swap moves any number of buckets.
type Ring struct {
	Settings Settings
	// Generation is the first part of every epoch, from 1. It is raised if the shard map was lost, restored from an
	// old backup or rebuilt for other settings. It is also raised if an object shows that a later generation
	// existed.
	Generation int64
	// Rebuilt is the generation in which all holders were last cleared. No session takes a lock before every session
	// that could still act in an earlier generation has stopped.
	Rebuilt int64
	// Sequence counts the writes, to detect a shard map that was restored from a backup.
	Sequence int64
	// Leader is the lock for the work that exactly one replica must do.
	Leader Lock
	// Buckets has Settings.Buckets entries.
	Buckets []Lock
}

// Lock is one lock of the shard map.
type Lock struct {
	// Holder is the session that holds it, "" if it is free.
	Holder string
	// Number counts the claims; it is the second part of the epoch.
	Number int64
}
