package share

import "time"

// term is the time for which one replica leads without a break, and what it has learned of the others in it.
type term struct {
	// number is that of the term. seq counts the grants that were published in it.
	number, seq int64
	began       time.Time
	peers       map[string]*peer
	// published are the last grants, encoded without seq: nothing is published when it would say the same again.
	published string
}

// peer is another replica, as the leader knows it.
type peer struct {
	// since is when the leader saw it first in this term. founding is true if that was when the term began.
	since    time.Time
	founding bool
	// claims are the last that could be read. known is true if there ever were any. readable is true if those that are published now
	// can be read.
	claims          claims
	known, readable bool
	// followed is true when the replica has answered a grant of this term.
	followed bool
	// open are the grants that the replica has not answered. It may already use them.
	open map[resource]outstanding
}

// resource is what slots are granted of: all tasks of a vCenter, or, with a host, the clones of that host.
type resource struct{ vcenter, host string }

// see takes what the replica publishes. It reports whether the replica does not follow this term any more: it follows another
// leader, or it has refused this term.
//
// Claims that cannot be read change nothing: the last that could be read count, without a demand. Such a replica may be of another
// version. It may use what it was granted. It cannot use more, because nothing is granted without a demand. To take all slots for used
// would not be safer, and one replica that publishes nonsense would stop all others.
func (p *peer) see(text string, self string, number int64) (turnedAway bool) {
	c, err := decodeClaims(text)
	p.readable = err == nil
	if err != nil || p.known && c.Number <= p.claims.Number {
		return false
	}
	p.claims, p.known = c, true
	if c.Leader != self || c.Term != number {
		return p.followed || c.Refuses == self && c.Refused >= number
	}
	p.followed = true
	for k, o := range p.open {
		if o = o.answered(c.Seq); len(o) == 0 {
			delete(p.open, k)
		} else {
			p.open[k] = o
		}
	}
	return false
}

// unsettled reports whether nobody knows how many slots the replica may be using. It may still follow an earlier leader, whose last
// grants cannot be seen yet. A replica that came after the term had begun, and that has followed nobody, was never granted anything.
func (p *peer) unsettled(now time.Time) bool {
	return !p.followed && (p.founding || p.claims.Leader != "") && now.Sub(p.since) < patience
}

// tasks are the replica's slots of a vCenter: those that it demands, those of them that are no clones (loose), and the most that it may
// be using.
func (p *peer) tasks(vcenter string) (demand, loose, using int) {
	u := p.claims.VCenters[vcenter]
	using = max(u.Using, p.open[resource{vcenter, ""}].most())
	if !p.followed {
		using = max(using, 1) // as every replica that no grant mentions
	}
	if !p.readable {
		return 0, 0, using
	}
	return u.Demand, u.Loose, using
}

// clones are the replica's slots of a host: those that it demands, and the most that it may be using.
func (p *peer) clones(vcenter, host string) (demand, using int) {
	h := p.claims.VCenters[vcenter].Hosts[host]
	using = max(h.Using, p.open[resource{vcenter, host}].most())
	if !p.readable {
		return 0, using
	}
	return h.Demand, using
}

// sent notes that the replica may follow these grants from now on.
func (p *peer) sent(seq int64, vcenters map[string]slots) {
	send := func(k resource, n int) {
		if o := p.open[k].add(seq, n); len(o) > 0 {
			p.open[k] = o
		}
	}
	for vcenter, s := range vcenters {
		send(resource{vcenter, ""}, s.Tasks)
		for host, n := range s.Hosts {
			send(resource{vcenter, host}, n)
		}
	}
}

// outstanding are the grants of one resource that have no answer. They are sorted by age, the oldest first. A grant is left out when a
// later one is as great or greater: the replica may use the greatest of them, so the smaller one changes nothing.
type outstanding []grant

type grant struct {
	seq   int64
	slots int
}

func (o outstanding) add(seq int64, slots int) outstanding {
	for len(o) > 0 && o[len(o)-1].slots <= slots {
		o = o[:len(o)-1]
	}
	if slots == 0 {
		return o // a grant of nothing adds nothing; the earlier ones count until they are answered
	}
	return append(o, grant{seq, slots})
}

// answered removes the grants up to seq, which the replica has answered. Its claims say what it uses of them.
func (o outstanding) answered(seq int64) outstanding {
	for len(o) > 0 && o[0].seq <= seq {
		o = o[1:]
	}
	return o
}

// most is the greatest of the grants.
func (o outstanding) most() int {
	if len(o) == 0 {
		return 0
	}
	return o[0].slots
}
