package share

import "time"

// term is the uninterrupted time in which one replica leads, with the knowledge of the others that it gained.
type term struct {
	// number identifies the term. seq counts its published grants.
	number, seq int64
	began       time.Time
	peers       map[string]*peer
	// published are the last grants, encoded without seq, so that equal grants are not published again.
	published string
}

// peer is another replica, as the leader knows it.
type peer struct {
	// since is when the leader saw the replica first in this term. founding is true if that was when the term began.
	since    time.Time
	founding bool
	// claims are the last readable ones. known is true after the first readable claims. readable is true if the currently published ones
	// are readable.
	claims          claims
	known, readable bool
	// followed is true when the replica has answered a grant of this term.
	followed bool
	// open are the grants that the replica has not answered. It can already use them.
	open map[resource]outstanding
}

// resource is a granted resource: all tasks of a vCenter or, with a host, the clones of that host.
type resource struct{ vcenter, host string }

// see processes the replica's claims. It reports whether the replica no longer follows this term: it follows another leader, or it has
// refused this term.
//
// Unreadable claims change nothing: the last readable ones count, without a demand. Such a replica can be of another version. It can
// use its grants, but no more, because nothing is granted without a demand. Counting all slots as used would not be safer, and one
// replica with invalid claims would stop all others.
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

// unsettled reports whether the replica's usage is unknown. The replica can still follow an earlier leader, whose last grants are not
// visible yet. A replica that joined after the start of the term and has followed no leader never had a grant.
func (p *peer) unsettled(now time.Time) bool {
	return !p.followed && (p.founding || p.claims.Leader != "") && now.Sub(p.since) < patience
}

// tasks returns the replica's slots of a vCenter: its demand, the part of the demand without clones (loose), and the maximum that it
// can be using.
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

// clones returns the replica's slots of a host: its demand, and the maximum that it can be using.
func (p *peer) clones(vcenter, host string) (demand, using int) {
	h := p.claims.VCenters[vcenter].Hosts[host]
	using = max(h.Using, p.open[resource{vcenter, host}].most())
	if !p.readable {
		return 0, using
	}
	return h.Demand, using
}

// sent notes that the replica can follow these grants from now on.
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

// outstanding are the unanswered grants of one resource, the oldest first. It omits a grant if a later one is as large or larger: the
// replica can use the largest of them, so the smaller one changes nothing.
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
		return o // a grant of zero adds nothing, and earlier ones count until they are answered
	}
	return append(o, grant{seq, slots})
}

// answered removes the grants up to seq, which the replica has answered. Its claims contain what it uses of them.
func (o outstanding) answered(seq int64) outstanding {
	for len(o) > 0 && o[0].seq <= seq {
		o = o[1:]
	}
	return o
}

// most returns the largest grant.
func (o outstanding) most() int {
	if len(o) == 0 {
		return 0
	}
	return o[0].slots
}
