package model

import (
	"slices"
	"time"
)

// Shrink removes the parts of a history that are not needed to break the same rule, and returns the shortest history that it finds.
func Shrink(h History, v *Violation) (History, *Violation) {
	breaks := func(h History) *Violation {
		if again, _ := Run(h, false); again != nil && again.Rule == v.Rule {
			return again
		}
		return nil
	}
	for smaller := true; smaller; {
		smaller = false
		for _, next := range simpler(h) {
			if again := breaks(next); again != nil {
				h, v, smaller = next, again, true
				break
			}
		}
	}
	return h, v
}

// simpler returns histories with one part less.
func simpler(h History) (all []History) {
	for i := range h.Events {
		next := h
		next.Events = slices.Delete(slices.Clone(h.Events), i, i+1)
		if i < len(h.Events)-1 {
			next.Events[i].Wait += h.Events[i].Wait
		}
		all = append(all, next)
	}
	change := func(do func(*Setup) bool) {
		next := h
		if do(&next.Setup) {
			all = append(all, next)
		}
	}
	change(func(s *Setup) bool { was := s.Adopts; s.Adopts = 0; return was > 0 })
	change(func(s *Setup) bool { was := s.Slow; s.Slow = false; return was })
	change(func(s *Setup) bool { was := s.Old; s.Old = false; return was })
	change(func(s *Setup) bool { was := s.Retain; s.Retain = false; return was })
	change(func(s *Setup) bool { was := s.MinReady; s.MinReady = 0; return was > 0 })
	change(func(s *Setup) bool { was := s.Startup; s.Startup = 0; return was > 0 })
	change(func(s *Setup) bool { was := s.Gate; s.Gate = ""; return was != "" })
	change(func(s *Setup) bool { was := s.Quota; s.Quota, s.Others = Quota{}, 0; return was != Quota{} })
	change(func(s *Setup) bool { was := s.Surge + s.Unavailable; s.Surge, s.Unavailable = "", ""; return was != "" })
	change(func(s *Setup) bool { s.Replicas--; return s.Replicas > 0 })
	if h.End != Healed && h.End != Deleted {
		next := h
		next.End = Deleted
		all = append(all, next)
	}
	for i, e := range h.Events {
		for _, wait := range []time.Duration{0, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute} {
			if wait < e.Wait {
				next := h
				next.Events = slices.Clone(h.Events)
				next.Events[i].Wait = wait
				all = append(all, next)
			}
		}
		if e.N > 0 && e.N < 1<<12 {
			for _, n := range []int{0, e.N % 8, e.N / 2} {
				if n < e.N {
					next := h
					next.Events = slices.Clone(h.Events)
					next.Events[i].N = n
					all = append(all, next)
				}
			}
		}
	}
	return all
}
