package operations

import (
	"sync"
	"time"
)

// Sightings is when this process saw tasks of vCenters first, whichever connection did. The zero value is ready for use.
type Sightings struct {
	mu    sync.Mutex
	first map[string]map[string]time.Time
}

// See returns when each of these tasks of a vCenter was seen first. They are all that matter there: others are forgotten.
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
