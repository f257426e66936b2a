package budget

// Load returns the slots that are held, those that are wanted and not held, and the limit of tasks. Unlike [Budget.Usage] it
// does not count as a look: whoever shares the limits is still told of the change before.
func (b *Budget) Load() (held, waiting, limit int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held, b.wanted.total, b.limits.Tasks
}
