package protocol

import "github.com/codeconnect/vmgroup-operator/internal/sharding/ring"

// State of a session, as its Lease says.
type State string

const (
	// Starting sessions take nothing yet: their caches are not warm, or they disagree with the ring's settings.
	Starting State = "starting"
	// Ready sessions take buckets.
	Ready State = "ready"
	// Draining sessions give up what they hold as soon as it is idle.
	Draining State = "draining"
	// Fenced sessions have lost everything, for ever. Only others write it.
	Fenced State = "fenced"
)

// Lease is a session as it is stored. One session is one object, named by Session, which is never reused.
type Lease struct {
	// Session is unique to one life of a session.
	Session string
	// Boot is unique to one life of the process, which may have several sessions one after the other.
	Boot string
	// Host says to a person where the process runs: the Pod's name.
	Host  string
	State State
	// Settings are what this replica is configured with.
	Settings ring.Settings
	// Renewals counts the writes of this session, so that a lost reply can be told from somebody else's write.
	Renewals int64
	// RingGeneration and RingSequence are those of the newest ring that the replica has seen, so that one that has just
	// started notices that the ring was restored from a backup.
	RingGeneration, RingSequence int64
	// Published is what the replica tells the others; see Replica.Publish. Nil and empty are the same.
	Published map[string]string
	// FencedBy is the session that fenced this one, and DeathProven whether it had a proof that the process had ended.
	FencedBy    string
	DeathProven bool
}

// StoredLease is a Lease as the hub returned it.
type StoredLease struct {
	Lease
	// Version is the object's resourceVersion. It changes with every write and is otherwise opaque.
	Version string
}

// StoredRing is a ring as the hub returned it.
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
	// ReadRing reads the newest ring (quorum). Outcomes: Done, Missing, Invalid, Refused, Unknown.
	ReadRing struct{}
	// CreateRing creates the ring. Outcomes: Done, Exists, Refused, Unknown.
	CreateRing struct{ Ring ring.Ring }
	// WriteRing replaces the ring at Version. Outcomes: Done, Conflict, Missing, Refused, Unknown.
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
	// Unknown means that no answer came, or one that does not tell. A write may have been carried out, may be later, or never.
	Unknown Outcome = iota
	// Done means carried out; Result holds the object as it is now, except after a delete.
	Done
	// Conflict means that the object exists in another version. Nothing was written.
	Conflict
	// Missing means that there is no such object. Nothing was written.
	Missing
	// Exists means that the object to be created exists already. Nothing was written.
	Exists
	// Refused means that the hub refused the request for another reason (rights, quota, admission). Nothing was written.
	Refused
	// Invalid means that the object that was read is not what it should be; somebody edited it. Result.Ring holds its Version.
	Invalid
)

// Result of an Op.
type Result struct {
	Outcome Outcome
	// Lease after Done of a session's create, write or read.
	Lease StoredLease
	// Ring after Done of a ring's create, write or read.
	Ring StoredRing
	// Err says more to a person when the outcome is Unknown, Refused or Invalid; nil otherwise.
	Err error
}

func (o Outcome) String() string {
	return [...]string{"Unknown", "Done", "Conflict", "Missing", "Exists", "Refused", "Invalid"}[o]
}
