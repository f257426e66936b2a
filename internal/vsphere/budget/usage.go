package budget

import "maps"

// Usage is what a process publishes to others that share a vCenter.
type Usage struct {
	// Limits are the vCenter's limits, without caps.
	Limits Limits
	// Demand is the number of slots that could be used without caps and without the limit of Tasks: running, reserved or
	// wanted. It excludes what the limit of a host or the slow start of a group forbids.
	Demand int
	// Loose is the part of Demand that is no clones, which no host limits.
	Loose int
	// Held slots are running or reserved.
	Held int
	// Using is the maximum number of slots that can be held before the next change of the caps: the cap or, if larger, the
	// held slots. Only tasks that start without a reservation can exceed it.
	Using int
	// Hosts are the hosts with limited clones that are held, wanted, or permitted by a cap of their own.
	Hosts map[string]HostUsage
}

// HostUsage is the part of Usage for clones from one host.
type HostUsage struct{ Demand, Held, Using int }

// Usage returns the current usage. After that, the sharer is notified of the next change.
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

// Sharer divides the limits of a vCenter by usage. Changed reports that Usage can have changed. It must not block.
type Sharer interface{ Changed() }

// OnUsage registers s, which is notified when Usage can have changed: once, and again only after the next call of
// Usage. s is called without locks, in the goroutine of any other call or of a timer. It replaces the earlier sharer.
func (b *Budget) OnUsage(s Sharer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sharer, b.told = s, false
}

// demands are running, reserved or wanted slots.
type demands struct {
	// total can be less than the sum of hosts, because slow start limits a group over all its hosts.
	total int
	// hosts contains each host with a demand. The empty host is for tasks that are no clones.
	hosts map[string]int
}

// count adds a group's demand, multiplied by times, which is 1 or -1.
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

// demands returns what could be used with no limit except the slow start of groups.
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

// room returns how many of n more slots the group's slow start permits.
func (g *group) room(n int) int {
	if g.slow.window == 0 {
		return n
	}
	return max(0, min(n, g.slow.window-g.held))
}
