package vsphere

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

// ChangeKind names what happened to a VM.
type ChangeKind string

// Changes that vCenter is asked about when the operator did not make them itself.
const (
	ChangePoweredOff   ChangeKind = "PoweredOff"
	ChangeSuspended    ChangeKind = "Suspended"
	ChangeDeleted      ChangeKind = "Deleted"
	ChangeReconfigured ChangeKind = "Reconfigured"
	ChangeRenamed      ChangeKind = "Renamed"
	ChangeMoved        ChangeKind = "Moved"
)

// Change is what somebody else did to a VM of a group, as an event of vCenter tells it.
type Change struct {
	ID      GroupID
	Ordinal int32
	VM      Ref
	Kind    ChangeKind
	// At is when, by vCenter's clock.
	At time.Time
	// User is who, as Quoted returns it; empty when vCenter names nobody, as for a guest that shuts down by itself.
	User string
}

// Witness is told who changed VMs. Implementations must not block for long.
type Witness interface {
	// Cares reports whether this process looks after a group. vCenter is asked about no other.
	Cares(group GroupKey) bool
	// Changed tells of a change.
	Changed(change Change)
}

// maxQuoted is how many characters of a foreign string are shown.
const maxQuoted = 64

// Quoted returns a string that somebody else wrote, such as the name of a vCenter user, in a form in which it may go into logs, events and
// conditions: in quotes, without characters that control a terminal or the direction of writing, and of bounded length.
func Quoted(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if r == unicode.ReplacementChar || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs, unicode.Variation_Selector) {
			continue
		}
		if n == maxQuoted {
			b.WriteRune('…')
			break
		}
		n++
		b.WriteRune(r)
	}
	return strconv.Quote(b.String())
}
