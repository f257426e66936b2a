package trust

import (
	"maps"
	"time"
)

// shortSleep is a time between two calls of [Decide] that a busy machine can cause although the process was not stopped.
const shortSleep = 5 * time.Second

// Memory has the observations of earlier calls of [Decide]. It is a value: the returned Memory shares no data with the
// argument.
type Memory struct {
	replicas map[string]sighting
	// at is the time of the last addition; since awake, there was no gap. began is the start time, moved forward by every
	// gap.
	at, awake, began time.Time
	// leaf has been trusted by all members since trusted.
	leaf    string
	trusted time.Time
}

// sighting is what a process served when last seen.
type sighting struct {
	serving     Serving
	since, last time.Time
}

func (m Memory) seen(in Input) Memory {
	m.replicas = maps.Clone(m.replicas)
	if m.replicas == nil {
		m.replicas = map[string]sighting{}
	}
	switch gap := in.Now.Sub(m.at); {
	case m.at.IsZero():
		m.awake, m.began = in.Now, in.Now
	case gap > max(2*in.Limits.Settle, shortSleep):
		m.sleep(gap)
		m.awake = in.Now
	}
	m.at = in.Now
	for _, r := range in.Replicas {
		s, known := m.replicas[r.Process]
		if !known || s.serving != r.Serving {
			s = sighting{serving: r.Serving, since: in.Now}
		}
		s.last = in.Now
		m.replicas[r.Process] = s
	}
	maps.DeleteFunc(m.replicas, func(_ string, s sighting) bool { return !in.Now.Before(s.last.Add(in.Limits.Lost)) && s.last != in.Now })
	return m
}

// sleep accounts for a time without observations, because this process was stopped. Such a time proves nothing about other
// replicas, and it is unknown what replicas served that vanished meanwhile.
func (m *Memory) sleep(gap time.Duration) {
	for process, s := range m.replicas {
		m.replicas[process] = sighting{serving: Serving{Leaf: "unknown"}, since: s.since.Add(gap), last: s.last.Add(gap)}
	}
	m.began = m.began.Add(gap)
	m.leaf, m.trusted = "", time.Time{}
}

// settled returns the time since which all members have trusted the leaf.
func (m *Memory) settled(leaf string, trusted bool, now time.Time) time.Time {
	switch {
	case !trusted:
		m.leaf, m.trusted = "", time.Time{}
		return now
	case m.leaf != leaf:
		m.leaf, m.trusted = leaf, now
	}
	return m.trusted
}

// freeAt returns when replicas do not need an authority any more. It returns false while that is unknown, because a replica
// still needs the authority or has not published what it serves.
func (m Memory) freeAt(authority, served string, now time.Time, limits Limits) (time.Time, bool) {
	// Replicas that vanished before this process started are unknown.
	free := m.began.Add(limits.Lost)
	for _, s := range m.replicas {
		at := s.since.Add(limits.Overlap)
		if s.serving.needs(authority, served) {
			if s.last.Equal(now) {
				return time.Time{}, false
			}
			if s.serving.Leaf != "" { // otherwise it vanished before it served anything
				at = s.last.Add(limits.Lost)
			}
		}
		if at.After(free) {
			free = at
		}
	}
	return free, true
}
