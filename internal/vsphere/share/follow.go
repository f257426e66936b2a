package share

import (
	"maps"
	"slices"
	"time"
)

// following is whose grants a replica obeys.
type following struct {
	// leader is the session, "" before the first; grants are its last.
	leader string
	grants grants
	// terms are the last ones that were followed of each session. Once another was followed, only a later term is.
	terms map[string]int64
	// refuses is a leader whose present term is not followed for that reason, or empty.
	refuses string
}

// see takes what the leader publishes, unless that is old or cannot be read. A text that cannot be read changes
// nothing: it grants nothing, and what was granted before is still the last that is known.
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

// retain forgets sessions that are gone for ever.
func (f *following) retain(live []Peer) {
	maps.DeleteFunc(f.terms, func(session string, _ int64) bool {
		return session != f.leader && session != f.refuses && !slices.ContainsFunc(live, func(p Peer) bool { return p.Session == session })
	})
}

// granted is what the leader allows this session, and false where it has not said anything.
func (f *following) granted(leader, self, vcenter string) (slots, bool) {
	if f.leader == "" || f.leader != leader {
		return slots{}, false
	}
	s, ok := f.grants.Sessions[self][vcenter]
	return s, ok
}

const (
	// keep is how long a replica uses what it was granted after the leader's grants do not mention it any more.
	keep = 10 * time.Second
	// settle is how long a new leader raises nobody in any case, unless it is alone: it may not see yet who came when
	// another led, and was granted something.
	settle = 2 * time.Second
	// patience is how long a new leader waits for the answer of a replica. It is longer than keep, since the replica
	// may learn later than the leader that it is not mentioned.
	patience = 15 * time.Second
	// turnEvery is how often slots that are left over by the division go to others.
	turnEvery = 10 * time.Second
)
