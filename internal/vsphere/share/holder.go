package share

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
)

// Resource is the budget of one vCenter in this process; *budget.Budget is one.
type Resource interface {
	Usage() budget.Usage
	// SetCaps may call nothing of the Coordinator but Changed.
	SetCaps(budget.Caps)
	// OnUsage has the Coordinator told when Usage may have changed, at least once after the last Usage.
	OnUsage(budget.Sharer)
}

var _ Resource = (*budget.Budget)(nil)

// holder is a Resource, and what it may use at present.
type holder struct {
	Resource
	caps budget.Caps
	// until is when grants that are not repeated end.
	until time.Time
}

// unmentioned is what a replica may use that no leader knows yet.
var unmentioned = budget.Caps{Tasks: 1, OtherHosts: 1}

func (h *holder) set(caps budget.Caps) {
	h.caps = caps
	h.SetCaps(caps)
}

// grant sets what a leader allows.
func (h *holder) grant(s slots, now time.Time) {
	h.set(budget.Caps{Tasks: s.Tasks, Hosts: s.Hosts})
	h.until = now.Add(keep)
}

// all allows everything to a replica that is alone.
func (h *holder) all(now time.Time) {
	h.set(budget.NoCaps)
	h.until = now.Add(keep)
}

// lower takes away what is over the target, and gives nothing.
func (h *holder) lower(target slots) {
	caps := budget.Caps{Tasks: lower(h.caps.Tasks, target.Tasks), Hosts: make(map[string]int, len(target.Hosts))}
	for host, n := range target.Hosts {
		caps.Hosts[host] = lower(h.caps.Host(host), n)
	}
	h.set(caps)
}

// lower is the lower of a cap, which is none if it is negative, and a target.
func lower(slots, target int) int {
	if slots < 0 {
		return target
	}
	return min(slots, target)
}

// ungranted is called while no leader allows anything. What was allowed stays for a while.
func (h *holder) ungranted(now time.Time) {
	switch {
	case !now.Before(h.until):
		h.set(unmentioned)
	case h.caps.Tasks < 0: // it was alone, and is not the leader of the others
		u := h.Usage()
		caps := budget.Caps{Tasks: u.Limits.Tasks, Hosts: make(map[string]int, len(u.Hosts))}
		for host, n := range u.Hosts {
			caps.Hosts[host] = n.Using
		}
		h.set(caps)
	}
}

// claim is what is said of it to the others, and false if that is nothing.
func (h *holder) claim() (usage, bool) {
	u := h.Usage()
	said := usage{Demand: u.Demand, Loose: u.Loose, Using: u.Using}
	for host, n := range u.Hosts {
		if said.Hosts == nil {
			said.Hosts = make(map[string]hostUsage, len(u.Hosts))
		}
		said.Hosts[host] = hostUsage{Demand: n.Demand, Using: n.Using}
	}
	return said, said.Demand > 0 || said.Using > 0 || len(said.Hosts) > 0
}
