package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Call is one call of a replica that changes something of one group in vCenter.
type Call struct {
	// Boot is the process that called, as its user agent says.
	Boot string
	// Group is the UID of the VmGroup, or its first eight digits where nothing tells the rest.
	Group string
	// Epoch under which the process acts; zero where the call tells none.
	Epoch Epoch
	// Method, Object and Name say what was asked for; the recorder says how.
	Method, Object, Name string
	// Start is when the request had arrived. End is when the client had its answer or gave up, whichever came first: a client
	// that has closed its connection does nothing more with it. End is zero while the call is under way.
	Start, End time.Time
	// Finished is when the server was done with a call that the client had given up, and zero otherwise.
	Finished time.Time
	// Outcome is "ok", an error, or "" or "cut after" where nobody knows.
	Outcome string
}

// Accepted reports whether vCenter did, or may have done, what was asked for.
func (c Call) Accepted() bool {
	return c.Outcome == "ok" || c.Outcome == "" || c.Outcome == "cut after"
}

// Fenced reports whether vCenter refused the call because the caller's session had been ended. A process that is frozen between its last
// look at the clock and the call sends the call whenever it goes on: whoever took over has ended the session before.
func (c Call) Fenced() bool { return c.Outcome == "NotAuthenticated" }

// String says who called what when.
func (c Call) String() string {
	end := "under way"
	if !c.End.IsZero() {
		end = c.End.Format(Clock)
	}
	return fmt.Sprintf("%s %s%s by %s, %s to %s (%s)", c.Method, c.Object, nameOf(c.Name), c.Boot, c.Start.Format(Clock), end,
		cmp.Or(c.Outcome, "no answer yet"))
}

// Clock is the format of moments in reports: within a test the day is known.
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

// History is what replicas did to groups.
type History struct {
	// Calls in the order in which they arrived.
	Calls []Call
	// Shared is the number of calls that belong to no group: folders of members and namespaces.
	Shared int
}

// Since returns the part of the history that was not over at a moment.
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

// GivenUp returns the calls that the server went on with after their client had closed the connection. They are no overlap:
// a client cannot take back what it has sent. What they lead to is for the next owner to find and adopt.
func (h History) GivenUp() []Call {
	return h.filter(func(c Call) bool { return !c.Finished.IsZero() }).Calls
}

// acts are the calls that were not fenced.
func (h History) acts() History {
	return h.filter(func(c Call) bool { return !c.Fenced() })
}

// ByGroup returns the calls of each group, in the order in which they arrived.
func (h History) ByGroup() map[string][]Call {
	groups := map[string][]Call{}
	for _, c := range h.Calls {
		groups[c.Group] = append(groups[c.Group], c)
	}
	return groups
}
