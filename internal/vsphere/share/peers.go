package share

// Peers transports data between replicas. It is slow and shows only the last published data. It can show older data again. All
// methods must be safe for concurrent use, and must not call the Coordinator except for Changed.
type Peers interface {
	// Publish sets one key of this replica's data. An empty value removes the key. If the value is unchanged, it does nothing.
	// While this replica has no session, it keeps the value for later. It does not block.
	Publish(key, value string)
	// Peers returns all sessions that can still act, including the own one if there is one. A session must not be omitted until it
	// certainly starts nothing more in a vCenter.
	Peers() []Peer
}

// Peer is a session with its published data.
type Peer struct {
	// Session is unique: neither a later session nor another process uses it again.
	Session string
	// Self is true for the own session, and Leader for the one that leads as far as this replica knows. At most one leads.
	Self, Leader bool
	// Published must not be changed.
	Published map[string]string
}

// Keys of the published data.
const (
	claimsKey = "tasks"
	grantsKey = "grants"
)
