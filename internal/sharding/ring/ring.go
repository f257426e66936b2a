package ring

import "time"

// Settings are what all replicas of a ring must agree on.
type Settings struct {
	// Buckets is the number of buckets.
	Buckets int
	// Hash names the function that maps objects to buckets; see HashName.
	Hash string
	// Validity and Patience are protocol.Timings' fields of these names.
	Validity, Patience time.Duration
}

// Ring is the record of who holds which bucket. It is stored in one object, so that one compare-and-swap moves any
// number of buckets.
type Ring struct {
	Settings Settings
	// Generation is the first part of every epoch, from 1. It is raised when the ring was lost, restored from an old
	// backup or rebuilt for other settings, and when an object shows that a later one has existed.
	Generation int64
	// Rebuilt is the generation in which all holders were cleared last. Nobody takes anything before everybody who
	// might still act under an earlier one has stopped.
	Rebuilt int64
	// Sequence counts the writes, so that a ring that was restored from a backup is noticed.
	Sequence int64
	// Leader is the lock of what must be done once.
	Leader Lock
	// Buckets has Settings.Buckets entries.
	Buckets []Lock
}

// Lock is one lock of the ring.
type Lock struct {
	// Holder is the session that holds it, "" if it is free.
	Holder string
	// Number counts the claims; it is the second part of the epoch.
	Number int64
}
