//go:build unix

package main

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// glance is the least time for which trouble is shown. Without it, users could not see most trouble, because the operator powers on a VM within
// milliseconds.
const glance = time.Second

// reel has the states of each group to show. The first one is on screen. Later ones wait while trouble is shown for its least time.
type reel struct {
	mu     sync.Mutex
	frames map[groupKey][]frame
}

type groupKey struct{ member, group string }

// frame is one state of a group. since is the time when it was first shown, or zero if it was not shown yet.
type frame struct {
	row
	since time.Time
}

func newReel() *reel { return &reel{frames: map[groupKey][]frame{}} }

// put adds the next state of a group. It replaces a last state that was not shown yet, unless that state shows other trouble.
func (r *reel) put(next row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := groupKey{next.member, next.group}
	frames := r.frames[key]
	if last := len(frames) - 1; last >= 0 && frames[last].since.IsZero() && (frames[last].trouble == "" || frames[last].trouble == next.trouble) {
		frames = frames[:last]
	}
	r.frames[key] = append(frames, frame{row: next})
}

// remove forgets a deleted group.
func (r *reel) remove(member, group string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.frames, groupKey{member, group})
}

// keep forgets the other groups of a member.
func (r *reel) keep(member string, groups map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.frames, func(key groupKey, _ []frame) bool { return key.member == member && !groups[key.group] })
}

// show returns the current rows by member and group.
func (r *reel) show(now time.Time) []row {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := make([]row, 0, len(r.frames))
	for key, frames := range r.frames {
		frames = wind(frames, now)
		r.frames[key] = frames
		rows = append(rows, frames[0].row)
	}
	sortRows(rows)
	return rows
}

// wind drops states that were shown or need not be shown.
func wind(frames []frame, now time.Time) []frame {
	for len(frames) > 1 {
		first, second := frames[0], &frames[1]
		same := first.trouble == second.trouble
		if !same && first.trouble != "" && (first.since.IsZero() || now.Sub(first.since) < glance) {
			break
		}
		if same {
			second.since = first.since // the trouble was shown already, whatever else has changed
		}
		frames = frames[1:]
	}
	if frames[0].since.IsZero() {
		frames[0].since = now
	}
	return frames
}

// behind reports whether states wait to be shown.
func (r *reel) behind() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, frames := range r.frames {
		if len(frames) > 1 {
			return true
		}
	}
	return false
}

func sortRows(rows []row) {
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.member, b.member), cmp.Compare(a.group, b.group))
	})
}
