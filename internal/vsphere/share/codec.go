package share

import (
	"encoding/json"
	"errors"
	"fmt"
)

// claims are a replica's published claims.
type claims struct {
	// Number grows with every change, so that older claims are recognizable.
	Number int64 `json:"n"`
	// Leader is the session whose grants this replica followed last, up to Term and Seq. VCenters reflects all these
	// grants. Grants of another leader are no longer followed.
	Leader string `json:"leader,omitempty"`
	Term   int64  `json:"term,omitempty"`
	Seq    int64  `json:"seq,omitempty"`
	// Refused is a term of the leader Refuses that this replica does not follow, because it has followed another leader in
	// between. The leader must begin another term.
	Refuses string `json:"refuses,omitempty"`
	Refused int64  `json:"refused,omitempty"`
	// VCenters are the vCenters where the replica wants or can be using slots, by name.
	VCenters map[string]usage `json:"vcenters,omitempty"`
}

// usage is the part of budget.Usage that the leader needs.
type usage struct {
	Demand int `json:"d,omitempty"`
	Loose  int `json:"l,omitempty"`
	Using  int `json:"u,omitempty"`
	// Hosts are the hosts where the replica wants or can be using slots.
	Hosts map[string]hostUsage `json:"h,omitempty"`
}

type hostUsage struct {
	Demand int `json:"d,omitempty"`
	Using  int `json:"u,omitempty"`
}

// grants are the leader's published grants.
type grants struct {
	// Term counts how often this session began to lead, and Seq its grants. Both only grow.
	Term int64 `json:"term"`
	Seq  int64 `json:"seq"`
	// Sessions holds what each session can use, by vCenter. A missing vCenter is undecided.
	Sessions map[string]map[string]slots `json:"sessions,omitempty"`
}

// slots are what one replica can use of one vCenter. A missing host has none.
type slots struct {
	Tasks int            `json:"t,omitempty"`
	Hosts map[string]int `json:"h,omitempty"`
}

// most is larger than any limit, and small enough that sums do not overflow.
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

// encode returns the compact JSON of claims or grants. Equal values give equal texts.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain numbers, strings and maps
	}
	return string(text)
}
