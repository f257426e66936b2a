package budget

import "maps"

// Caps are the part of the limits that this process may use, when several processes share a vCenter. A negative number
// is no cap: the limit alone counts. A cap above the limit changes nothing.
type Caps struct {
	// Tasks caps all tasks.
	Tasks int
	// Hosts caps the clones of templates on each host, OtherHosts those on any host that Hosts does not have. Neither
	// counts while Limits has no TasksPerHost: nothing is shared then.
	Hosts      map[string]int
	OtherHosts int
}

// NoCaps leave a budget all that its limits allow. It has them until SetCaps.
var NoCaps = Caps{Tasks: -1, OtherHosts: -1}

// Host is the cap of one host.
func (c Caps) Host(name string) int {
	if n, ok := c.Hosts[name]; ok {
		return n
	}
	return c.OtherHosts
}

func (c Caps) equal(o Caps) bool {
	return c.Tasks == o.Tasks && c.OtherHosts == o.OtherHosts && maps.Equal(c.Hosts, o.Hosts)
}

// SetCaps changes the caps. Lower ones take nothing away: nothing is granted until enough has ended. OnUsage is not told.
// The budget keeps a copy.
func (b *Budget) SetCaps(caps Caps) {
	b.mu.Lock()
	if b.caps.equal(caps) {
		b.mu.Unlock()
		return
	}
	caps.Hosts = maps.Clone(caps.Hosts)
	b.caps = caps
	b.unlock(b.offer(b.decide()))
}

// capped is the smaller of a limit and a cap.
func capped(limit, slots int) int {
	if slots < 0 {
		return limit
	}
	return min(limit, slots)
}

// hostLimits are those of the hosts that somebody wants slots of, or nil when no cap makes them differ from the limit.
func (b *Budget) hostLimits(d demands) map[string]hostLimit {
	if b.limits.TasksPerHost <= 0 || b.caps.OtherHosts < 0 && len(b.caps.Hosts) == 0 {
		return nil
	}
	limits := make(map[string]hostLimit, len(d.hosts))
	for host, demand := range d.hosts {
		l := hostLimit{slots: capped(b.limits.TasksPerHost, b.caps.Host(host))}
		if len(b.present) > 1 {
			l.keep = headroomOf(l.slots, b.limits.TasksPerHost, demand)
		}
		limits[host] = l
	}
	return limits
}
