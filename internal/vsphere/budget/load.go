package budget

// Load returns the held slots, the unmet demand, and the limit of tasks. Unlike [Budget.Usage], it does not count as a read:
// the sharer is still notified of the earlier change.
func (b *Budget) Load() (held, waiting, limit int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held, b.wanted.total, b.limits.Tasks
}
