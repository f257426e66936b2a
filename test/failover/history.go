package failover

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/history"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// Package history evaluates the records made here.
type (
	// Call is history.Call. Method, Object, Name and Outcome are those of sim.Record.
	Call = history.Call
	// Epoch is history.Epoch.
	Epoch = history.Epoch
	// History is history.History.
	History = history.History
	// Timeline is history.Timeline.
	Timeline = history.Timeline
	// RingSeen is history.RingSeen.
	RingSeen = history.RingSeen
	// Session is history.Session.
	Session = history.Session
	// Gap is history.Gap.
	Gap = history.Gap
	// Move is history.Move.
	Move = history.Move
)

// Gone is history.Gone.
const Gone = history.Gone

const clock = history.Clock

// Percentile is history.Percentile.
func Percentile(gaps []Gap, share float64) time.Duration { return history.Percentile(gaps, share) }

var (
	bootMark = regexp.MustCompile(`; boot ([^;)]+);`)
	// groupFolder is the name of a group's folder: the group's name and the first digits of its UID.
	groupFolder = regexp.MustCompile(`\.([0-9a-f]{8})$`)
)

// NewHistory creates a history from a proxy's records. It omits calls of clients without a boot in their user agent,
// which are users.
func NewHistory(records []sim.Record) History {
	var h History
	names := namesOf(records)
	for _, r := range records {
		boot := bootMark.FindStringSubmatch(r.UserAgent)
		if boot == nil {
			continue
		}
		group := names.group(r)
		if group == "" {
			h.Shared++
			continue
		}
		h.Calls = append(h.Calls, Call{
			Boot: boot[1], Group: group, Epoch: epochOf(r.Epoch), Method: r.Method, Object: r.Object, Name: r.Name,
			Start: r.Start, End: endOf(r), Finished: finishedOf(r), Outcome: r.Outcome,
		})
	}
	slices.SortStableFunc(h.Calls, func(a, b Call) int { return a.Start.Compare(b.Start) })
	return h
}

func endOf(r sim.Record) time.Time {
	for _, end := range []time.Time{r.Closed, r.Answered} {
		if !end.IsZero() {
			return end
		}
	}
	return r.End
}

func finishedOf(r sim.Record) time.Time {
	if r.Closed.IsZero() {
		return time.Time{}
	}
	return r.End
}

func epochOf(text string) Epoch {
	generation, number, _ := strings.Cut(text, ".")
	g, err1 := strconv.ParseInt(generation, 10, 64)
	n, err2 := strconv.ParseInt(number, 10, 64)
	if err1 != nil || err2 != nil {
		return Epoch{}
	}
	return Epoch{Generation: g, Number: n}
}

// names identify the group of calls that carry no stamp and do not concern a VM.
type names struct {
	// uids by their first eight digits.
	uids map[string]string
	// objects are groups' folders and tasks, with the UID or its beginning.
	objects map[string]string
}

func namesOf(records []sim.Record) names {
	n := names{uids: map[string]string{}, objects: map[string]string{}}
	for _, r := range records {
		if len(r.Group) >= 8 {
			n.uids[r.Group[:8]] = r.Group
		}
	}
	for _, r := range records {
		// A CreateFolder returns the folder, where other calls return their task.
		if group := n.group(r); group != "" && r.Task != "" {
			n.objects[r.Task] = group
		}
	}
	return n
}

func (n names) group(r sim.Record) string {
	if r.Group != "" {
		return r.Group
	}
	if m := groupFolder.FindStringSubmatch(r.Name); m != nil && r.Method == "CreateFolder" {
		return cmp.Or(n.uids[m[1]], m[1])
	}
	return n.objects[r.Object]
}
