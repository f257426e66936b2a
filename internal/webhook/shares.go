package webhook

import "sync"

// shares divides something that is limited among callers: requests at a time, or bytes. No caller gets more than it leaves free: one gets half, two
// a third each, and so on. So members that flood the hub, however many, do not keep the others out. It is safe for concurrent use.
type shares struct {
	mu sync.Mutex
	// free is what nobody holds.
	free int64
	held map[string]int64
}

func newShares(total int64) *shares {
	return &shares{free: total, held: map[string]int64{}}
}

// take gives a caller n, or returns false at once. Whoever got it gives it back.
func (s *shares) take(caller string, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[caller]+n > s.free-n {
		return false
	}
	s.free -= n
	s.held[caller] += n
	return true
}

func (s *shares) give(caller string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free += n
	if s.held[caller] -= n; s.held[caller] == 0 {
		delete(s.held, caller)
	}
}
