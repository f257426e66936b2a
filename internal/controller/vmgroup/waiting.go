package vmgroup

// Waiting implements queuemetrics.Source.
func (r *Reconciler) Waiting() map[string]int {
	if r.limiter == nil {
		return nil
	}
	return r.limiter.waitingOf()
}

// waitingOf counts the requests of each member that wait for a place. It counts lines, not requests, so that it is short.
func (l *limiter) waitingOf() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := map[string]int{}
	for member, of := range l.members {
		for _, line := range of.lines {
			counts[member] += line.urgent.Len() + line.rest.Len()
		}
	}
	return counts
}
