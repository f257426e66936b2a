package protocol

import "github.com/codeconnect/vmgroup-operator/internal/sharding/ring"

// State of a session, as in its Lease.
type State string

const (
	// Starting sessions take no buckets yet: their caches are not warm, or their settings differ from the shard map's.
	Starting State = "starting"
	// Ready sessions take buckets.
	Ready State = "ready"
	// Draining sessions release what they hold as soon as it is idle.
	Draining State = "draining"
	// Fenced sessions have permanently lost everything. Only other sessions write this state.
	Fenced State = "fenced"
)

// Lease is a session as stored. One session is one object, named by Session, which is never reused.
type Lease struct {
	// Session is unique to one session.
	Session string
	// Boot is unique to one run of the process, which can have several consecutive sessions.
	Boot string
	// Host is the name of the Pod of the process, for display.
	Host  string
	State State
	// Settings are the configuration of this replica.
	Settings ring.Settings
	// Renewals counts the writes of this session, to distinguish a lost reply from a write of another client.
	Renewals int64
	// RingGeneration and RingSequence are those of the newest shard map that the replica has seen. With them, a replica that
	// has just started detects a shard map that was restored from a backup.
	RingGeneration, RingSequence int64
	// Published is the data that the replica publishes to the others; see Replica.Publish. Nil and empty are the same.
	Published map[string]string
	// FencedBy is the session that fenced this one. DeathProven is true if it had a proof that the process had ended.
	FencedBy    string
	DeathProven bool
}

// StoredLease is a Lease as the hub returned it.
type StoredLease struct {
	Lease
	// Version is the object's resourceVersion. It changes with every write and is otherwise opaque.
	Version string
}

// StoredRing is a shard map as the hub returned it.
type StoredRing struct {
	Ring ring.Ring
	// Version is the object's resourceVersion. It changes with every write and is otherwise opaque.
	Version string
}

// Op is one request to the hub. Every write is conditional: it creates, or it replaces or deletes exactly one version.
type Op interface{ op() }

type (
	// CreateSession creates the Lease. Outcomes: Done, Exists, Refused, Unknown.
	CreateSession struct{ Lease Lease }
	// WriteSession replaces the Lease at Version: a renewal, or the fencing of another session. Outcomes: Done,
	// Conflict, Missing, Refused, Unknown.
	WriteSession struct {
		Lease   Lease
		Version string
	}
	// ReadSession reads the newest Lease (quorum). Outcomes: Done, Missing, Refused, Unknown.
	ReadSession struct{ Session string }
	// DeleteSession deletes the Lease at Version. Outcomes: Done, Conflict, Missing, Refused, Unknown.
	DeleteSession struct{ Session, Version string }
	// ReadRing reads the newest shard map (quorum). Outcomes: Done, Missing, Invalid, Refused, Unknown.
	ReadRing struct{}
	// CreateRing creates the shard map. Outcomes: Done, Exists, Refused, Unknown.
	CreateRing struct{ Ring ring.Ring }
	// WriteRing replaces the shard map at Version. Outcomes: Done, Conflict, Missing, Refused, Unknown.
	WriteRing struct {
		Ring    ring.Ring
		Version string
	}
)

func (CreateSession) op() {}
func (WriteSession) op()  {}
func (ReadSession) op()   {}
func (DeleteSession) op() {}
func (ReadRing) op()      {}
func (CreateRing) op()    {}
func (WriteRing) op()     {}

// Outcome of an Op.
type Outcome int

const (
	// Unknown means that no response came, or an inconclusive one. A write was possibly executed, or will be later, or never.
	Unknown Outcome = iota
	// Done means executed; Result holds the object as it is now, except after a delete.
	Done
	// Conflict means that the object exists in another version. Nothing was written.
	Conflict
	// Missing means that the object does not exist. Nothing was written.
	Missing
	// Exists means that the object to create exists already. Nothing was written.
	Exists
	// Refused means that the hub refused the request for another reason (RBAC, quota, admission). Nothing was written.
	Refused
	// Invalid means that the object read is malformed, because it was edited. Result.Ring holds its Version.
	Invalid
)

// Result of an Op.
type Result struct {
	Outcome Outcome
	// Lease after Done of a session's create, write or read.
	Lease StoredLease
	// Ring after Done of a create, write or read of the shard map.
	Ring StoredRing
	// Err has details for messages if the outcome is Unknown, Refused or Invalid; otherwise it is nil.
	Err error
}

func (o Outcome) String() string {
	return [...]string{"Unknown", "Done", "Conflict", "Missing", "Exists", "Refused", "Invalid"}[o]
}
