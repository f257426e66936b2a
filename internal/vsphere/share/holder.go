package share

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
)

// Resource is the budget of one vCenter in this process, such as a *budget.Budget.
type Resource interface {
	Usage() budget.Usage
	// SetCaps must not call the Coordinator except for Changed.
	SetCaps(budget.Caps)
	// OnUsage registers the Coordinator for changes of Usage. It must be notified at least once after the last change.
	OnUsage(budget.Sharer)
}

var _ Resource = (*budget.Budget)(nil)

// holder is a Resource with its current caps.
type holder struct {
	Resource
	caps budget.Caps
	// until is the end of grants that are not repeated.
	until time.Time
}

// unmentioned are the caps of a replica that no leader knows yet.
var unmentioned = budget.Caps{Tasks: 1, OtherHosts: 1}

func (h *holder) set(caps budget.Caps) {
	h.caps = caps
	h.SetCaps(caps)
}

// grant sets the caps that a leader grants.
func (h *holder) grant(s slots, now time.Time) {
	h.set(budget.Caps{Tasks: s.Tasks, Hosts: s.Hosts})
	h.until = now.Add(keep)
}

// all removes the caps for a replica that is alone.
func (h *holder) all(now time.Time) {
	h.set(budget.NoCaps)
	h.until = now.Add(keep)
}

// lower reduces the caps to the target, and raises none.
func (h *holder) lower(target slots) {
	caps := budget.Caps{Tasks: lower(h.caps.Tasks, target.Tasks), Hosts: make(map[string]int, len(target.Hosts))}
	for host, n := range target.Hosts {
		caps.Hosts[host] = lower(h.caps.Host(host), n)
	}
	h.set(caps)
}

// lower returns the lower of a cap and a target. A negative cap means no cap.
func lower(slots, target int) int {
	if slots < 0 {
		return target
	}
	return min(slots, target)
}

// ungranted is called while no leader grants slots. The earlier grant stays valid until h.until.
func (h *holder) ungranted(now time.Time) {
	switch {
	case !now.Before(h.until):
		h.set(unmentioned)
	case h.caps.Tasks < 0: // it was alone, and does not lead the others
		u := h.Usage()
		caps := budget.Caps{Tasks: u.Limits.Tasks, Hosts: make(map[string]int, len(u.Hosts))}
		for host, n := range u.Hosts {
			caps.Hosts[host] = n.Using
		}
		h.set(caps)
	}
}

// claim returns the published usage, or false if there is none.
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
