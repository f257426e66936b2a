package edits

import (
	"slices"
	"time"
)

const (
	// MaxPending is how many requests wait for proof. Then the oldest one of the member with the most is dropped.
	MaxPending = 1000
	// Lifetime is how long a request waits for proof. A watch delivers a change in milliseconds.
	Lifetime = 30 * time.Second
)

// Pending are the requests that wait for proof, in the order of their arrival. The zero value is ready to use.
type Pending struct {
	requests []*Request
	// members counts the requests of each member.
	members map[string]int
}

// Add adds a request. It returns the earlier request that the group before the change proves.
func (p *Pending) Add(r Request) (proved []Request) {
	if r.proof != nil {
		proved = p.See(r.Group, *r.proof)
		r.proof = nil
	}
	if len(p.requests) >= MaxPending {
		p.dropOne()
	}
	if p.members == nil {
		p.members = map[string]int{}
	}
	p.members[r.Member]++
	p.requests = append(p.requests, &r)
	return proved
}

func (p *Pending) dropOne() {
	most := 0
	for _, n := range p.members {
		most = max(most, n)
	}
	dropped := false
	p.remove(func(r *Request) bool {
		drop := !dropped && p.members[r.Member] == most
		dropped = dropped || drop
		return drop
	})
}

// remove removes requests, each of which it asks once.
func (p *Pending) remove(drop func(*Request) bool) {
	var gone []*Request
	p.requests = slices.DeleteFunc(p.requests, func(r *Request) bool {
		if !drop(r) {
			return false
		}
		gone = append(gone, r)
		return true
	})
	for _, r := range gone {
		if p.members[r.Member]--; p.members[r.Member] == 0 {
			delete(p.members, r.Member)
		}
	}
}

// See removes the requests of a group about which a stored state is proof, and returns the one that made the state. If the state can be of several
// users, it returns none.
func (p *Pending) See(of Group, s Seen) (proved []Request) {
	p.remove(func(r *Request) bool {
		if r.Group != of {
			return false
		}
		is := r.judge(s)
		if is == stored {
			proved = append(proved, *r)
		}
		return is != open
	})
	if slices.ContainsFunc(proved, func(r Request) bool { return !r.sameOrigin(&proved[0]) }) {
		return nil
	}
	return proved[:min(len(proved), 1)]
}

// Expire drops the requests that have waited too long. It returns the groups of the others.
func (p *Pending) Expire(now time.Time) []Group {
	p.remove(func(r *Request) bool { return now.Sub(r.at) > Lifetime })
	var groups []Group
	seen := map[Group]bool{}
	for _, r := range p.requests {
		if !seen[r.Group] {
			seen[r.Group] = true
			groups = append(groups, r.Group)
		}
	}
	return groups
}
