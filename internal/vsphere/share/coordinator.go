package share

import (
	"context"
	"reflect"
	"sync"
	"time"
)

// Coordinator keeps the budgets of this process within their shares of the limits. All methods are safe for concurrent use.
type Coordinator struct {
	peers Peers
	now   func() time.Time
	// kick wakes Run. It holds at most one wake-up.
	kick chan struct{}

	mu      sync.Mutex
	holders map[string]*holder
	// self is the own session at the last read of the peers.
	self   string
	follow following
	// term is nil while another replica leads. terms counts the terms of this process.
	term  *term
	terms int64
	// claims are the last published claims.
	claims claims
}

// New returns a coordinator that is inactive until Run.
func New(peers Peers, now func() time.Time) *Coordinator {
	return &Coordinator{peers: peers, now: now, kick: make(chan struct{}, 1), holders: make(map[string]*holder)}
}

// Add controls the caps of a vCenter's budget until remove is called. The name must be the same in all replicas. Until Run has
// read the peers, the budget can use one slot. Another budget with the same name replaces the earlier one.
func (c *Coordinator) Add(vcenter string, r Resource) (remove func()) {
	h := &holder{Resource: r}
	h.set(unmentioned)
	c.mu.Lock()
	c.holders[vcenter] = h
	c.mu.Unlock()
	r.OnUsage(c)
	c.Changed()
	return func() {
		c.mu.Lock()
		if c.holders[vcenter] == h {
			delete(c.holders, vcenter)
		}
		c.mu.Unlock()
		c.Changed()
	}
}

// Changed must be called after any change of the peers' data, of the own session, of the leader, or of a budget's usage. It
// does not block. Calls in quick succession cause one look.
func (c *Coordinator) Changed() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// lookEvery is the interval of looks without a change, because some decisions end with time.
const lookEvery = time.Second

// Run works until the context ends. It must continue while the process can still start tasks or hold a session: the other
// replicas wait for its answers.
func (c *Coordinator) Run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		c.look()
		select {
		case <-ctx.Done():
			return
		case <-c.kick:
		case <-ticker.C:
		}
	}
}

// look acts on the current peers and usage.
func (c *Coordinator) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	peers := c.peers.Peers()
	self, leader, others := sort(peers)
	if self.Session != c.self {
		c.reset(self.Session)
	}
	c.follow.retain(peers)
	if self.Session != "" && self.Leader {
		c.leads(now, self.Session, others)
	} else {
		c.follows(now, leader)
	}
	c.claim()
}

// sort separates this replica and the leader from the others. If there is none, self or leader is empty.
func sort(peers []Peer) (self, leader Peer, others []Peer) {
	for _, p := range peers {
		if p.Leader {
			leader = p
		}
		if p.Self {
			self = p
		} else {
			others = append(others, p)
		}
	}
	return self, leader, others
}

// reset begins another session. The other replicas have redistributed the slots of the earlier one.
func (c *Coordinator) reset(session string) {
	c.self, c.follow, c.term = session, following{}, nil
	for _, h := range c.holders {
		h.until = time.Time{}
	}
}

// leads divides all slots as the leader.
func (c *Coordinator) leads(now time.Time, self string, others []Peer) {
	t := c.lead(now, self, others)
	sessions := make(map[string]map[string]slots)
	for name, h := range c.holders {
		if len(others) == 0 {
			h.all(now)
			continue
		}
		for session, s := range t.divide(now, self, name, h) {
			if sessions[session] == nil {
				sessions[session] = make(map[string]slots)
			}
			sessions[session][name] = s
		}
	}
	t.publish(c.peers, sessions)
	c.follow.obey(self, grants{Term: t.number, Seq: t.seq})
}

// follows applies the leader's grants.
func (c *Coordinator) follows(now time.Time, leader Peer) {
	if c.term != nil {
		c.term = nil
		c.peers.Publish(grantsKey, "")
	}
	if leader.Session != "" {
		c.follow.see(leader.Session, leader.Published[grantsKey])
	}
	for name, h := range c.holders {
		if s, ok := c.follow.granted(leader.Session, c.self, name); ok {
			h.grant(s, now)
		} else {
			h.ungranted(now)
		}
	}
}

// claim publishes what this replica wants and can be using, after all caps are set.
func (c *Coordinator) claim() {
	said := claims{
		Number: c.claims.Number,
		Leader: c.follow.leader, Term: c.follow.grants.Term, Seq: c.follow.grants.Seq,
		Refuses: c.follow.refuses, Refused: c.follow.terms[c.follow.refuses],
		VCenters: make(map[string]usage, len(c.holders)),
	}
	for name, h := range c.holders {
		if u, ok := h.claim(); ok {
			said.VCenters[name] = u
		}
	}
	if !reflect.DeepEqual(said, c.claims) {
		said.Number++
		c.claims = said
	}
	c.peers.Publish(claimsKey, encode(c.claims))
}
