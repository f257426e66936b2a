package trust

// Known reports whether the Secret was read since the start. Before that, empty results of Bundle and Segment do not mean
// that the data does not exist: members must keep theirs.
func (r *Rotator) Known() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known
}
