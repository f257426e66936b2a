package budget

// slowStart limits a group whose task failed.
type slowStart struct {
	// window is the maximum number of slots of the group, or 0 for no limit.
	window int
	// failures counts failures. Only tasks that started after the last failure can widen the window: earlier tasks prove
	// nothing about tasks that start now.
	failures int
}

func (s *slowStart) failed() {
	s.failures++
	s.window = 1
}

// succeeded widens the window after a task that started when failures had the given value. A window that reaches limit
// is removed.
func (s *slowStart) succeeded(failures, limit int) {
	if s.window == 0 || failures != s.failures {
		return
	}
	s.window *= 2
	if s.window >= limit {
		s.window = 0
	}
}
