package budget

import "time"

// ask stores a group's current demand on host. A waiting group or demand keeps its place, even if it did not claim in
// time. Otherwise groups that are all slower than the claim window would never be served.
func (b *Budget) ask(groupName, host string, want int) *group {
	g := b.group(groupName)
	g.forgotten = false
	b.present[groupName] = struct{}{}
	delete(b.offers, slot{groupName, host})
	if want == 0 && host == "" && g.held == 0 {
		g.begun = false // the cloned VMs need nothing more
	}
	d, ok := g.demands[host]
	switch {
	case want == 0 && ok:
		b.used = true
		b.update(g, func() { delete(g.demands, host) })
	case want == 0:
	case !ok:
		b.used = true
		b.update(g, func() { b.begin(g, host, want) })
	case d.want != want || d.lapsed:
		b.used = true
		b.update(g, func() { d.want, d.lapsed = want, false })
	}
	b.tidy(g)
	return g
}

// begin makes a group wait for slots on a host where it did not wait yet.
func (b *Budget) begin(g *group, host string, want int) {
	if g.member.waiting == 0 {
		g.member.since = b.next()
	}
	if len(g.demands) == 0 && !g.begun {
		g.since = b.next()
	}
	g.demands[host] = &demand{want: want, since: b.next()}
}

// decide distributes the free slots, after groups that did not claim in time have lost their turn.
func (b *Budget) decide() []share {
	if len(b.offers) > 0 {
		b.lapse(b.clock.Now())
	}
	return allocate(b.snapshot())
}

// snapshot returns the input of a decision. While no slot is free, it contains no waiters.
func (b *Budget) snapshot() snapshot {
	s := snapshot{limits: b.limits, held: b.held, heldOnHost: b.heldOnHost}
	s.limits.Tasks = capped(b.limits.Tasks, b.caps.Tasks)
	if s.free() <= 0 {
		return s
	}
	var demand demands // only caps make it matter
	if !b.caps.equal(NoCaps) {
		demand = b.demands()
	}
	s.hosts = b.hostLimits(demand)
	if len(b.present) > 1 {
		s.keep, s.keepOnHost = headroomOf(s.limits.Tasks, b.limits.Tasks, demand.total), headroom(b.limits.TasksPerHost)
	}
	b.owe(&s)
	b.waiting.fill(&s)
	return s
}

func (b *Budget) lapse(now time.Time) {
	for s, end := range b.offers {
		if now.Before(end) {
			continue
		}
		delete(b.offers, s)
		if d := b.demand(s); d != nil {
			b.used = true
			b.update(b.groups[s.group], func() { d.lapsed = true })
		}
	}
}

func (b *Budget) demand(s slot) *demand {
	if g, ok := b.groups[s.group]; ok {
		return g.demands[s.host]
	}
	return nil
}

// offer keeps the shares for their groups and returns the groups that were not notified yet. Kept slots need no mark:
// every later decision includes their waiters.
func (b *Budget) offer(shares []share) (wake []string) {
	offers := make(map[slot]time.Time, len(shares))
	told := make(map[string]bool)
	var first time.Time
	for _, s := range shares {
		k := slot{s.group, s.host}
		end, ok := b.offers[k]
		if !ok {
			end = b.clock.Now().Add(b.claim)
			if !told[s.group] {
				told[s.group] = true
				wake = append(wake, s.group)
			}
		}
		offers[k] = end
		if first.IsZero() || end.Before(first) {
			first = end
		}
	}
	b.offers = offers
	b.wake(first)
	return wake
}

// wake sets the timer to the given time, or stops it if that is zero. A group that does not claim makes no call, so
// nothing else would give its slots to the next group.
func (b *Budget) wake(at time.Time) {
	if at.Equal(b.wakeAt) {
		return
	}
	if b.stop != nil {
		b.stop()
		b.stop = nil
	}
	b.wakeAt = at
	if at.IsZero() {
		return
	}
	b.stop = b.clock.AfterFunc(at.Sub(b.clock.Now()), func() {
		b.change(func() {
			if at.Equal(b.wakeAt) {
				b.wakeAt, b.stop = time.Time{}, nil
			}
		})
	})
}
