package share

import (
	"maps"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
)

// lead processes the claims of the others, begins a term if one is due, and returns the term.
func (c *Coordinator) lead(now time.Time, self string, others []Peer) *term {
	if c.term == nil || c.term.see(now, self, others) {
		c.terms++
		c.term = &term{number: c.terms, began: now, peers: make(map[string]*peer)}
		c.term.see(now, self, others)
		for _, p := range c.term.peers {
			p.founding = true
		}
	}
	return c.term
}

// see processes the claims of the others. It reports whether a replica no longer follows this term.
func (t *term) see(now time.Time, self string, others []Peer) (turnedAway bool) {
	live := make(map[string]bool, len(others))
	for _, o := range others {
		live[o.Session] = true
		p, ok := t.peers[o.Session]
		if !ok {
			p = &peer{since: now, open: make(map[resource]outstanding)}
			t.peers[o.Session] = p
		}
		turnedAway = p.see(o.Published[claimsKey], self, t.number) || turnedAway
	}
	maps.DeleteFunc(t.peers, func(session string, _ *peer) bool { return !live[session] })
	return turnedAway
}

// divide decides about one vCenter. It sets the own caps, and returns the grants of the other replicas that follow.
func (t *term) divide(now time.Time, self, vcenter string, h *holder) map[string]slots {
	// The own excess is released first, so that other replicas get it at once.
	h.lower(t.division(now, self, vcenter, h.Usage()).targets()[self])
	granted := t.division(now, self, vcenter, h.Usage()).allocate()
	h.grant(granted[self], now)
	delete(granted, self)
	delete(granted, unknown)
	maps.DeleteFunc(granted, func(session string, _ slots) bool { return !t.peers[session].followed })
	return granted
}

// division holds all claims on one vCenter.
type division struct {
	limits budget.Limits
	turn   int
	tasks  []Claim
	hosts  map[string][]Claim
}

func (t *term) division(now time.Time, self, vcenter string, u budget.Usage) division {
	d := division{limits: u.Limits, turn: int(now.Sub(t.began) / turnEvery), hosts: make(map[string][]Claim)}
	loose := map[string]int{self: u.Loose}
	d.tasks = append(d.tasks, Claim{self, u.Demand, u.Using})
	if u.Limits.TasksPerHost > 0 {
		for _, host := range t.hosts(vcenter, u) {
			d.hosts[host] = append(d.hosts[host], Claim{self, u.Hosts[host].Demand, u.Hosts[host].Using})
		}
	}
	for session, p := range t.peers {
		demand, n, using := p.tasks(vcenter)
		d.tasks, loose[session] = append(d.tasks, Claim{session, demand, using}), n
		for host := range d.hosts {
			demand, using := p.clones(vcenter, host)
			d.hosts[host] = append(d.hosts[host], Claim{session, demand, using})
		}
	}
	if u.Limits.TasksPerHost > 0 {
		d.bound(loose)
	}
	if t.unsettled(now) { // beside a replica that can be using everything, none is raised
		d.tasks = append(d.tasks, Claim{unknown, 0, max(0, d.limits.Tasks)})
		for host := range d.hosts {
			d.hosts[host] = append(d.hosts[host], Claim{unknown, 0, d.limits.TasksPerHost})
		}
	}
	return d
}

// unknown stands for replicas that can be using unreported slots. No session has this name.
const unknown = ""

// unsettled reports whether a replica can be using slots that this leader does not know of.
func (t *term) unsettled(now time.Time) bool {
	for _, p := range t.peers {
		if p.unsettled(now) {
			return true
		}
	}
	return now.Sub(t.began) < settle
}

// hosts returns the hosts where a replica wants or can be using slots.
func (t *term) hosts(vcenter string, u budget.Usage) []string {
	all := make(map[string]struct{})
	for host := range u.Hosts {
		all[host] = struct{}{}
	}
	for _, p := range t.peers {
		for host := range p.claims.VCenters[vcenter].Hosts {
			all[host] = struct{}{}
		}
		for k := range p.open {
			if k.vcenter == vcenter && k.host != "" {
				all[k.host] = struct{}{}
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// bound subtracts, from the demand for tasks, those clones whose source host has no free slot: they cannot start. loose has the demand that needs no host.
func (d *division) bound(loose map[string]int) {
	usable := maps.Clone(loose)
	for _, claims := range d.hosts {
		for i, n := range Targets(d.limits.TasksPerHost, claims, d.turn) {
			usable[claims[i].Replica] += n
		}
	}
	for i := range d.tasks {
		d.tasks[i].Demand = min(d.tasks[i].Demand, usable[d.tasks[i].Replica])
	}
}

// targets returns the final shares of all replicas, and allocate what they can use now.
func (d division) targets() map[string]slots  { return d.each(Targets) }
func (d division) allocate() map[string]slots { return d.each(Allocate) }

func (d division) each(f func(limit int, claims []Claim, turn int) []int) map[string]slots {
	result := make(map[string]slots, len(d.tasks))
	for i, n := range f(d.limits.Tasks, d.tasks, d.turn) {
		result[d.tasks[i].Replica] = slots{Tasks: n, Hosts: make(map[string]int)}
	}
	for host, claims := range d.hosts {
		for i, n := range f(d.limits.TasksPerHost, claims, d.turn) {
			if n > 0 {
				result[claims[i].Replica].Hosts[host] = n
			}
		}
	}
	return result
}

// publish publishes the grants if they are new.
func (t *term) publish(peers Peers, sessions map[string]map[string]slots) {
	g := grants{Term: t.number, Sessions: sessions}
	text := encode(g)
	if text == t.published {
		return
	}
	t.published = text
	t.seq++
	g.Seq = t.seq
	for session, p := range t.peers {
		if p.followed {
			p.sent(g.Seq, sessions[session])
		}
	}
	peers.Publish(grantsKey, encode(g))
}
