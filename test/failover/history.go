package failover

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/vcsim/sim"
)

// Call is one call of a replica that changes something of one group in vCenter.
type Call struct {
	// Boot is the process that called, as its user agent says.
	Boot string
	// Group is the UID of the VmGroup, or its first eight digits where nothing tells the rest.
	Group string
	// Epoch under which the process acts; zero where the call tells none.
	Epoch Epoch
	// Method, Object and Name as in sim.Call.
	Method, Object, Name string
	// Start is when the request had arrived. End is when the client had its answer or gave up, whichever came first: a client
	// that has closed its connection does nothing more with it. End is zero while the call is under way.
	Start, End time.Time
	// Finished is when the server was done with a call that the client had given up, and zero otherwise.
	Finished time.Time
	// Outcome as in sim.Record.
	Outcome string
}

// Accepted reports whether vCenter did, or may have done, what was asked for.
func (c Call) Accepted() bool {
	return c.Outcome == "ok" || c.Outcome == "" || c.Outcome == "cut after"
}

// String says who called what when.
func (c Call) String() string {
	end := "under way"
	if !c.End.IsZero() {
		end = c.End.Format(clock)
	}
	return fmt.Sprintf("%s %s%s by %s, %s to %s (%s)", c.Method, c.Object, nameOf(c.Name), c.Boot, c.Start.Format(clock), end,
		cmp.Or(c.Outcome, "no answer yet"))
}

// clock is the format of moments in reports: within a test the day is known.
const clock = "15:04:05.000"

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

var (
	bootMark = regexp.MustCompile(`; boot ([^;)]+);`)
	// groupFolder is the name of a group's folder: the group's name and the first digits of its UID.
	groupFolder = regexp.MustCompile(`\.([0-9a-f]{8})$`)
)

// NewHistory makes a history of a proxy's records. Calls of clients without a boot in their user agent, which are people, are
// left out.
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
	return Epoch{g, n}
}

// names tell the group of calls that carry no stamp and are not about a VM.
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
		// A CreateFolder answers with the folder, where other calls answer with their task.
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

// Since returns the part of the history that was not over at a moment.
func (h History) Since(moment time.Time) History {
	return h.filter(func(c Call) bool { return c.End.IsZero() || c.End.After(moment) })
}

// Of returns the calls of one process.
func (h History) Of(boot string) History {
	return h.filter(func(c Call) bool { return c.Boot == boot })
}

// methods returns the calls of these methods.
func (h History) methods(methods ...string) History {
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

// byGroup returns the calls of each group, in the order in which they arrived.
func (h History) byGroup() map[string][]Call {
	groups := map[string][]Call{}
	for _, c := range h.Calls {
		groups[c.Group] = append(groups[c.Group], c)
	}
	return groups
}
