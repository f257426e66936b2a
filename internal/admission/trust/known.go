package trust

// Known reports whether the Secret was looked for since the start. Before that, Bundle and Segment having nothing does not
// mean that there is nothing: what members have must stay.
func (l *Leader) Known() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known
}
