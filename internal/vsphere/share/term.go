package share

import "time"

// term is what a leader knows of the others, since it leads.
type term struct {
	// number and seq are those of the last grants.
	number, seq int64
	began       time.Time
	peers       map[string]*peer
	// published is the last that was, without its seq.
	published string
}

// peer is another replica, as the leader knows it.
type peer struct {
	// since is when this leader saw it first in this term; founding is true if that was when the term began.
	since    time.Time
	founding bool
	// claims are the last that could be read; known is true if there were any, readable if the board shows some now.
	claims          claims
	known, readable bool
	// followed is true when it has answered in this term.
	followed bool
	// open are grants that it may follow without having said so, of each resource.
	open map[resource]outstanding
}

// resource is all tasks of a vCenter, or the clones of one host if host is not empty.
type resource struct{ vcenter, host string }

// see takes in what the board of a replica shows. It reports whether the replica has turned away to follow another, or
// would have to be won back.
//
// Claims that cannot be read are taken for the last that could be, with no demand. The replica may be of a version that
// writes something else, and use what it was granted; but it cannot use more, since a grant needs a demand. To assume
// that it uses everything would be no safer, and one bad board would stop all.
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

// unsettled reports whether nobody knows what the replica may be using: it may follow grants of another leader that are
// not to be seen yet. One that came later and has followed nobody was never granted anything.
func (p *peer) unsettled(now time.Time) bool {
	return !p.followed && (p.founding || p.claims.Leader != "") && now.Sub(p.since) < patience
}

// tasks is what the replica says of a vCenter.
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

// clones is what the replica says of a host.
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

// outstanding are grants of one resource without an answer: older ones first, each greater than all after it. Those that
// a later one is not below of are left out, since they do not matter while that one is outstanding.
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
		return o // what was granted before counts until it is answered, and this is nothing
	}
	return append(o, grant{seq, slots})
}

// answered leaves out what the replica had followed when it spoke: its own word says what became of that.
func (o outstanding) answered(seq int64) outstanding {
	for len(o) > 0 && o[0].seq <= seq {
		o = o[1:]
	}
	return o
}

func (o outstanding) most() int {
	if len(o) == 0 {
		return 0
	}
	return o[0].slots
}
