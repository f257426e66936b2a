package operations

import (
	"sync"
	"time"
)

// Sightings stores when this process first saw vCenters' tasks, through any connection. The zero value is ready for use.
type Sightings struct {
	mu    sync.Mutex
	first map[string]map[string]time.Time
}

// See returns the time at which each of these tasks of a vCenter was first seen. It forgets the vCenter's other tasks.
func (s *Sightings) See(vcenter string, tasks []string, now time.Time) map[string]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := make(map[string]time.Time, len(tasks))
	for _, task := range tasks {
		first, ok := s.first[vcenter][task]
		if !ok {
			first = now
		}
		seen[task] = first
	}
	if s.first == nil {
		s.first = map[string]map[string]time.Time{}
	}
	s.first[vcenter] = seen
	return seen
}
