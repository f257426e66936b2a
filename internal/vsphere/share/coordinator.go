package share

import (
	"context"
	"reflect"
	"sync"
	"time"
)

// Coordinator keeps the budgets of this process within their part of the limits. All methods are safe for concurrent
// use.
type Coordinator struct {
	peers Peers
	now   func() time.Time
	// kick wakes Run; it holds at most one wake-up.
	kick chan struct{}

	mu      sync.Mutex
	holders map[string]*holder
	// self is the own session when the peers were looked at last.
	self   string
	follow following
	// term is nil while another leads; terms counts those of this process.
	term  *term
	terms int64
	// claims are the last that were published.
	claims claims
}

// New returns a coordinator that does nothing before Run.
func New(peers Peers, now func() time.Time) *Coordinator {
	return &Coordinator{peers: peers, now: now, kick: make(chan struct{}, 1), holders: make(map[string]*holder)}
}

// Add takes over the caps of a vCenter's budget until remove is called. The name must be the same in all replicas. The
// budget may use one slot until Run has looked at the peers. Another budget of the same name replaces the one before.
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

// Changed is called after any change of what peers publish, of the own session, of the leader, or of a budget's usage. It does
// not block; calls that come together are answered by one look.
func (c *Coordinator) Changed() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// lookEvery is how often Run looks although nothing has changed, since some decisions end with time.
const lookEvery = time.Second

// Run does the work until the context ends. It must go on while the process may still start tasks or hold a session: the
// others wait for its answers.
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

// look does what the peers and the usage demand now.
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

// sort tells this replica and the leader from the others. Self and leader are empty if there is none.
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

// reset begins another session. The others have given away what the one before had.
func (c *Coordinator) reset(session string) {
	c.self, c.follow, c.term = session, following{}, nil
	for _, h := range c.holders {
		h.until = time.Time{}
	}
}

// leads divides everything.
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

// follows does what the leader says.
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

// claim says what this replica wants and may use, after all caps are set.
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
