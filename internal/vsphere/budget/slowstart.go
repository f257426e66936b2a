package budget

// slowStart limits a group whose task failed.
type slowStart struct {
	// window is the number of slots that the group may hold, or 0 while nothing limits it.
	window int
	// failures counts failures. Only tasks that were started after the last one can widen the window: what was
	// running already when it happened proves nothing about what is started now.
	failures int
}

func (s *slowStart) failed() {
	s.failures++
	s.window = 1
}

// succeeded widens the window after a task that was started when failures had the given value. A window that
// has reached limit limits nothing any more and is removed.
func (s *slowStart) succeeded(failures, limit int) {
	if s.window == 0 || failures != s.failures {
		return
	}
	s.window *= 2
	if s.window >= limit {
		s.window = 0
	}
}
