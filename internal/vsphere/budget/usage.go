package budget

import "maps"

// Usage is what a process tells others with whom it shares a vCenter.
type Usage struct {
	// Limits are those of the vCenter, without caps.
	Limits Limits
	// Demand is the number of slots that could be used if no cap and no limit of Tasks were in the way: running,
	// reserved or wanted. What the limit of a host or the slow start of a group forbids is not in it.
	Demand int
	// Loose is the number of these that are no clones, which no host limits.
	Loose int
	// Held slots are running or reserved.
	Held int
	// Using is the number of slots that may be held before the caps change next: the cap, or what is held if that is
	// more. Only tasks that start without a reservation can exceed it.
	Using int
	// Hosts are those with limited clones that are held, wanted, or allowed by a cap of their own.
	Hosts map[string]HostUsage
}

// HostUsage is the part of Usage that are clones from one host.
type HostUsage struct{ Demand, Held, Using int }

// Usage returns it as it is now. OnUsage is told of the next change from then on.
func (b *Budget) Usage() Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used, b.told = false, false
	d := b.demands()
	u := Usage{
		Limits: b.limits, Demand: d.total, Loose: d.hosts[""], Held: b.held,
		Using: max(b.held, capped(b.limits.Tasks, b.caps.Tasks)),
	}
	perHost := b.limits.TasksPerHost
	if perHost <= 0 {
		return u
	}
	u.Hosts = make(map[string]HostUsage)
	add := func(host string) {
		held := b.heldOnHost[host]
		u.Hosts[host] = HostUsage{
			Demand: max(held, min(d.hosts[host], perHost)), Held: held,
			Using: max(held, capped(perHost, b.caps.Host(host))),
		}
	}
	for host, slots := range b.caps.Hosts {
		if slots > 0 {
			add(host)
		}
	}
	usable := u.Loose
	for host := range d.hosts {
		if host != "" {
			add(host)
			usable += u.Hosts[host].Demand
		}
	}
	u.Demand = min(u.Demand, usable)
	return u
}

// Sharer divides the limits of a vCenter by what is used. Changed says that Usage may have changed; it must not block.
type Sharer interface{ Changed() }

// OnUsage has s told when Usage may have changed: once, and again only after the next Usage. It is called without
// locks, in the goroutine of any other call or of a timer. It replaces the one before.
func (b *Budget) OnUsage(s Sharer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sharer, b.told = s, false
}

// demands are slots that are running, reserved or wanted.
type demands struct {
	// total may be less than the sum of hosts, since slow start limits a group over all its hosts.
	total int
	// hosts has each host with any; the empty one is for tasks that are no clones.
	hosts map[string]int
}

// count adds what a group wants, times what is 1 or -1.
func (d *demands) count(g *group, times int) {
	wanted := 0
	for host, want := range g.demands {
		if want.lapsed {
			continue
		}
		n := g.room(want.want)
		wanted += n
		if d.hosts[host] += times * n; d.hosts[host] == 0 {
			delete(d.hosts, host)
		}
	}
	d.total += times * g.room(wanted)
}

// demands returns what could be used with no limit but the slow start of groups.
func (b *Budget) demands() demands {
	d := demands{total: b.held + b.wanted.total, hosts: maps.Clone(b.wanted.hosts)}
	loose := b.held
	for host, n := range b.heldOnHost {
		d.hosts[host] += n
		loose -= n
	}
	if loose > 0 {
		d.hosts[""] += loose
	}
	return d
}

// room is how many of n more slots the slow start of the group allows.
func (g *group) room(n int) int {
	if g.slow.window == 0 {
		return n
	}
	return max(0, min(n, g.slow.window-g.held))
}
