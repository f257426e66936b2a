package share

// Peers is where replicas read what others say. It is slow, and shows only the last of what was published; it may show
// something older again. All methods must be safe for concurrent use, and must not call the Coordinator but for Changed.
type Peers interface {
	// Publish replaces the value of one key of what this replica publishes; an empty value removes it. It does nothing if the value
	// is the same, keeps it for later while this replica has no session, and does not block.
	Publish(key, value string)
	// Peers returns those of all sessions that may still act, the own one among them while there is one. A session
	// must not be left out before it is certain that it starts nothing more in a vCenter.
	Peers() []Peer
}

// Peer is a session with what it publishes.
type Peer struct {
	// Session is never used again by another life of a session, nor by another process.
	Session string
	// Self is true for the own one, Leader for the one that leads as far as is known here. At most one leads.
	Self, Leader bool
	// Published are only read.
	Published map[string]string
}

// Keys of what is published.
const (
	claimsKey = "tasks"
	grantsKey = "grants"
)
