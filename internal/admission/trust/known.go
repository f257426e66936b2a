package trust

// Known reports whether the Secret was looked for since the start. Before that, Bundle and Segment having nothing does not
// mean that there is nothing: what members have must stay.
func (r *Rotator) Known() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known
}
