package budget

import "maps"

// Caps are the share of the limits that this process can use if several processes share a vCenter. A negative number
// means no cap: only the limit counts. A cap above the limit has no effect.
type Caps struct {
	// Tasks caps all tasks.
	Tasks int
	// Hosts caps the clones of templates on each host, and OtherHosts those on each host that is not in Hosts. If Limits has
	// no TasksPerHost, both are ignored.
	Hosts      map[string]int
	OtherHosts int
}

// NoCaps permits a budget all of its limits. It applies until SetCaps.
var NoCaps = Caps{Tasks: -1, OtherHosts: -1}

// Host returns the cap of one host.
func (c Caps) Host(name string) int {
	if n, ok := c.Hosts[name]; ok {
		return n
	}
	return c.OtherHosts
}

func (c Caps) equal(o Caps) bool {
	return c.Tasks == o.Tasks && c.OtherHosts == o.OtherHosts && maps.Equal(c.Hosts, o.Hosts)
}

// SetCaps changes the caps. Lower caps revoke no slot: nothing is granted until enough tasks have ended. It does not
// notify the sharer. The budget keeps a copy.
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

// capped returns the smaller of a limit and a cap.
func capped(limit, slots int) int {
	if slots < 0 {
		return limit
	}
	return min(limit, slots)
}

// hostLimits returns the limits of the hosts with a demand, or nil if no cap makes them differ from the limit.
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
