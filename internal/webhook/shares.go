package webhook

import "sync"

// shares divides a limited resource among callers: concurrent requests, or bytes. No caller gets more than it leaves free: one gets half, two a
// third each, and so on. So members that flood the hub, in any number, cannot lock out the others. It is safe for concurrent use.
type shares struct {
	mu sync.Mutex
	// free is the part that no caller holds.
	free int64
	held map[string]int64
}

func newShares(total int64) *shares {
	return &shares{free: total, held: map[string]int64{}}
}

// take gives n to a caller, or returns false at once. After a true result, the caller must give it back.
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
