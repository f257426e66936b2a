package share

import (
	"maps"
	"slices"
	"time"
)

// following is the leader whose grants a replica follows.
type following struct {
	// leader is the session, or "" before the first one. grants are its last grants.
	leader string
	grants grants
	// terms are the last followed terms of each session. After another leader was followed, only a later term is followed.
	terms map[string]int64
	// refuses is a leader whose current term is not followed for that reason, or "".
	refuses string
}

// see processes the leader's grants, unless they are old or unreadable. An unreadable text changes nothing: it grants
// nothing, and the earlier grants stay the last known ones.
func (f *following) see(leader, text string) {
	f.refuses = ""
	g, err := decodeGrants(text)
	if err != nil {
		return
	}
	if f.leader != leader {
		if g.Term <= f.terms[leader] {
			f.refuses = leader
			return
		}
	} else if g.Term < f.grants.Term || g.Term == f.grants.Term && g.Seq <= f.grants.Seq {
		return
	}
	f.obey(leader, g)
}

func (f *following) obey(leader string, g grants) {
	if f.terms == nil {
		f.terms = make(map[string]int64)
	}
	f.leader, f.grants, f.refuses = leader, g, ""
	f.terms[leader] = g.Term
}

// retain forgets sessions that have ended for good.
func (f *following) retain(live []Peer) {
	maps.DeleteFunc(f.terms, func(session string, _ int64) bool {
		return session != f.leader && session != f.refuses && !slices.ContainsFunc(live, func(p Peer) bool { return p.Session == session })
	})
}

// granted returns what the leader grants this session, or false without a grant.
func (f *following) granted(leader, self, vcenter string) (slots, bool) {
	if f.leader == "" || f.leader != leader {
		return slots{}, false
	}
	s, ok := f.grants.Sessions[self][vcenter]
	return s, ok
}

const (
	// keep is how long a replica uses its slots after the leader's grants no longer mention it.
	keep = 10 * time.Second
	// settle is the minimum time in which a new leader raises no replica, unless it is alone: it can still miss a replica
	// that joined under another leader and has grants.
	settle = 2 * time.Second
	// patience is how long a new leader waits for a replica's answer. It is longer than keep, because the replica can
	// learn later than the leader that it is not mentioned.
	patience = 15 * time.Second
	// turnEvery is the time after which leftover slots move to other replicas.
	turnEvery = 10 * time.Second
)
