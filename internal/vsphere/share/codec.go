package share

import (
	"encoding/json"
	"errors"
	"fmt"
)

// claims are what a replica says of itself.
type claims struct {
	// Number grows with every change, so that older ones are known as such.
	Number int64 `json:"n"`
	// Leader is the session whose grants this replica has followed last, Term and Seq say how far. All that follows
	// from these grants is in VCenters; grants of another leader are not followed any more.
	Leader string `json:"leader,omitempty"`
	Term   int64  `json:"term,omitempty"`
	Seq    int64  `json:"seq,omitempty"`
	// Refused is a term of Refuses, who leads, that this replica does not follow, since it has followed another leader
	// in between. That one has to begin another term.
	Refuses string `json:"refuses,omitempty"`
	Refused int64  `json:"refused,omitempty"`
	// VCenters are those of which it wants or may use anything, by name.
	VCenters map[string]usage `json:"vcenters,omitempty"`
}

// usage is budget.Usage without what the leader need not know.
type usage struct {
	Demand int `json:"d,omitempty"`
	Loose  int `json:"l,omitempty"`
	Using  int `json:"u,omitempty"`
	// Hosts are those of which it wants or may use anything.
	Hosts map[string]hostUsage `json:"h,omitempty"`
}

type hostUsage struct {
	Demand int `json:"d,omitempty"`
	Using  int `json:"u,omitempty"`
}

// grants are what the leader says of all.
type grants struct {
	// Term counts how often this session began to lead, Seq its grants; both only grow.
	Term int64 `json:"term"`
	Seq  int64 `json:"seq"`
	// Sessions have, by vCenter, what they may use. A vCenter that is missing is not decided about.
	Sessions map[string]map[string]slots `json:"sessions,omitempty"`
}

// slots are what one replica may use of one vCenter. A host that is missing has none.
type slots struct {
	Tasks int            `json:"t,omitempty"`
	Hosts map[string]int `json:"h,omitempty"`
}

// most is more than any limit is, and small enough that sums do not overflow.
const most = 1 << 20

var errNumber = errors.New("a number of slots is negative or absurd")

func decodeClaims(text string) (claims, error) {
	var c claims
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return claims{}, fmt.Errorf("claims of a replica: %w", err)
	}
	for _, u := range c.VCenters {
		ok := sane(u.Demand) && sane(u.Loose) && sane(u.Using)
		for _, h := range u.Hosts {
			ok = ok && sane(h.Demand) && sane(h.Using)
		}
		if !ok {
			return claims{}, fmt.Errorf("claims of a replica: %w", errNumber)
		}
	}
	return c, nil
}

func decodeGrants(text string) (grants, error) {
	var g grants
	if err := json.Unmarshal([]byte(text), &g); err != nil {
		return grants{}, fmt.Errorf("grants of the leader: %w", err)
	}
	for _, vcenters := range g.Sessions {
		for _, s := range vcenters {
			ok := sane(s.Tasks)
			for _, n := range s.Hosts {
				ok = ok && sane(n)
			}
			if !ok {
				return grants{}, fmt.Errorf("grants of the leader: %w", errNumber)
			}
		}
	}
	return g, nil
}

func sane(n int) bool { return n >= 0 && n <= most }

// encode returns the compact JSON of claims or grants. The same value gives the same text.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain numbers, strings and maps
	}
	return string(text)
}
