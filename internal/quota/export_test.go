package quota

// Books returns the number of totals in memory.
func (l *Ledger) Books() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.books)
}
