package describe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Entry is something that happened to a VmGroup.
type Entry struct {
	Time time.Time
	// Warning is true for an event of type Warning.
	Warning bool
	// Reason is the reason of an event.
	Reason string
	// Group is the VmGroup, as NAMESPACE/NAME.
	Group string
	// Text is the sentence.
	Text string
}

// Events returns the entries of events, the newest first.
func Events(events []corev1.Event) []Entry {
	sorted := slices.SortedStableFunc(slices.Values(events), func(a, b corev1.Event) int { return Newest(&a, &b) })
	entries := make([]Entry, len(sorted))
	for i := range sorted {
		entries[i] = EntryOf(&sorted[i])
	}
	return entries
}

// Newest orders events: the one that happened last comes first.
func Newest(a, b *corev1.Event) int {
	return cmp.Or(lastSeen(b).Compare(lastSeen(a)), cmp.Compare(groupOf(a), groupOf(b)))
}

// EntryOf returns the entry of an event.
func EntryOf(e *corev1.Event) Entry {
	text := untrusted.Text(e.Message, 1024)
	if n := times(e); n > 1 {
		text += fmt.Sprintf(" (%d times)", n)
	}
	return Entry{Time: lastSeen(e), Warning: e.Type == corev1.EventTypeWarning, Reason: untrusted.Text(e.Reason, 60), Text: text, Group: groupOf(e)}
}

func groupOf(e *corev1.Event) string {
	return untrusted.Text(e.InvolvedObject.Namespace+"/"+e.InvolvedObject.Name, 320)
}

// Edits returns the entries of the edits that status records, the newest first. They stay when the events have expired.
func Edits(g *v1alpha1.VmGroup) []Entry {
	entries := make([]Entry, 0, len(g.Status.Edits))
	for _, e := range slices.Backward(g.Status.Edits) {
		what := "created"
		if len(e.Fields) > 0 {
			what = untrusted.Text(strings.Join(e.Fields, ", "), 1024)
		}
		by := cmp.Or(untrusted.Text(e.User, 253), "a user who is not known")
		if e.Manager != "" {
			by += " with " + untrusted.Text(e.Manager, 128)
		}
		entries = append(entries, Entry{Time: e.Time.Time, Reason: fmt.Sprintf("generation %d", e.Generation), Text: what + ", by " + by})
	}
	return entries
}

// lastSeen returns when an event was last observed. The API has had several fields for that.
func lastSeen(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

func times(e *corev1.Event) int32 {
	if e.Series != nil {
		return e.Series.Count
	}
	return e.Count
}
