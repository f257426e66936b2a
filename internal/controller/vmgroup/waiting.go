package vmgroup

// Waiting implements queuemetrics.Source.
func (r *Reconciler) Waiting() map[string]int {
	if r.queue == nil {
		return nil
	}
	return r.queue.Waiting()
}
