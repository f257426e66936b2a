package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Call is one call of a replica that changes a group in vCenter.
type Call struct {
	// Boot is the calling process, from its user agent.
	Boot string
	// Group is the UID of the VmGroup, or its first eight digits if the rest is unknown.
	Group string
	// Epoch under which the process acts, or zero if the call has none.
	Epoch Epoch
	// Method, Object and Name describe the request. Their form depends on the recorder.
	Method, Object, Name string
	// Start is the arrival of the request. End is the time when the client got its answer or closed the connection, whichever was first: a
	// client that closed its connection acts no more on it. End is zero while the call is in progress.
	Start, End time.Time
	// Finished is when the server completed a call whose client had disconnected, and zero otherwise.
	Finished time.Time
	// Outcome is "ok", an error, or "" or "cut after" if it is unknown.
	Outcome string
}

// Accepted reports whether vCenter executed the request, or can have executed it.
func (c Call) Accepted() bool {
	return c.Outcome == "ok" || c.Outcome == "" || c.Outcome == "cut after"
}

// Fenced reports whether vCenter refused the call because the caller's session was ended. A process that is frozen between its last check
// of the clock and the call sends the call when it resumes. The new owner has ended the session before that.
func (c Call) Fenced() bool { return c.Outcome == "NotAuthenticated" }

// String returns the caller, the method and the times.
func (c Call) String() string {
	end := "under way"
	if !c.End.IsZero() {
		end = c.End.Format(Clock)
	}
	return fmt.Sprintf("%s %s%s by %s, %s to %s (%s)", c.Method, c.Object, nameOf(c.Name), c.Boot, c.Start.Format(Clock), end,
		cmp.Or(c.Outcome, "no answer yet"))
}

// Clock is the format of times in reports. The day is known within a test.
const Clock = "15:04:05.000"

func nameOf(name string) string {
	if name == "" {
		return ""
	}
	return " " + name
}

// Epoch is a fencing number, ordered by Generation, then Number.
type Epoch struct{ Generation, Number int64 }

// Compare as in cmp.Compare.
func (e Epoch) Compare(other Epoch) int {
	return cmp.Or(cmp.Compare(e.Generation, other.Generation), cmp.Compare(e.Number, other.Number))
}

// History contains the actions of replicas on groups.
type History struct {
	// Calls in the order of their arrival.
	Calls []Call
	// Shared counts the calls that belong to no group: folders of members and namespaces.
	Shared int
}

// Since returns the calls that had not ended at a moment.
func (h History) Since(moment time.Time) History {
	return h.filter(func(c Call) bool { return c.End.IsZero() || c.End.After(moment) })
}

// Of returns the calls of one process.
func (h History) Of(boot string) History {
	return h.filter(func(c Call) bool { return c.Boot == boot })
}

// Methods returns the calls of these methods.
func (h History) Methods(methods ...string) History {
	return h.filter(func(c Call) bool { return slices.Contains(methods, c.Method) })
}

func (h History) filter(keep func(Call) bool) History {
	h.Calls = slices.DeleteFunc(slices.Clone(h.Calls), func(c Call) bool { return !keep(c) })
	return h
}

// GivenUp returns the calls that the server completed after their client closed the connection. They are no overlap, because a client
// cannot cancel a sent request. The next owner finds and adopts their results.
func (h History) GivenUp() []Call {
	return h.filter(func(c Call) bool { return !c.Finished.IsZero() }).Calls
}

// acts returns the calls that were not fenced.
func (h History) acts() History {
	return h.filter(func(c Call) bool { return !c.Fenced() })
}

// ByGroup returns the calls of each group, in the order of their arrival.
func (h History) ByGroup() map[string][]Call {
	groups := map[string][]Call{}
	for _, c := range h.Calls {
		groups[c.Group] = append(groups[c.Group], c)
	}
	return groups
}
