package model

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// History is the input of one run.
type History struct {
	Seed   uint64
	Setup  Setup
	Events []Event
	End    End
}

// Setup is the start of a history.
type Setup struct {
	Replicas int
	// Surge and Unavailable are maxSurge and maxUnavailable. Empty means the default.
	Surge, Unavailable string
	// Gate and MinReady are fields of readiness. Startup is startupTimeoutSeconds, or zero for the default.
	Gate              v1alpha1.ReadinessGate
	MinReady, Startup int32
	// Old means that the group is older than an hour. Slow means that everything takes long. Retain sets the deletion policy.
	Old, Slow, Retain bool
	Quota             Quota
	Others            int64
	// Adopts is the number of VMs that the group adopts from a former group.
	Adopts int
}

// Event is an event after a wait. N selects its variant.
type Event struct {
	Wait time.Duration
	Kind string
	N    int
}

// End is the end of a history.
type End string

// Ends.
const (
	Healed    End = "healed"
	Deleted   End = "deleted"
	Kept      End = "kept"
	Forgotten End = "forgotten"
)

// spec returns the spec of the group at the start.
func (s Setup) spec() v1alpha1.VmGroupSpec {
	spec := v1alpha1.VmGroupSpec{
		CPU: 2, Memory: 2, Template: "a", Replicas: ptr.To(int32(s.Replicas)),
		UpdateStrategy: &v1alpha1.UpdateStrategy{MaxSurge: number(s.Surge), MaxUnavailable: number(s.Unavailable)},
		Readiness:      &v1alpha1.Readiness{Gate: s.Gate, MinReadySeconds: s.MinReady, StartupTimeoutSeconds: s.Startup},
	}
	if s.Retain {
		spec.DeletionPolicy = v1alpha1.DeletionRetain
	}
	return spec
}

// number parses a number or a percentage. It returns nil for the default.
func number(text string) *intstr.IntOrString {
	if text == "" {
		return nil
	}
	n := intstr.Parse(text)
	return &n
}

// String formats a history so that users can read and repeat it.
func (h History) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %+v\n", h.Seed, h.Setup)
	for _, e := range h.Events {
		fmt.Fprintf(&b, "  after %s: %s %d\n", e.Wait, e.Kind, e.N)
	}
	fmt.Fprintf(&b, "  then 35 minutes of rest, and the group is %s", h.End)
	return b.String()
}

// budgets are combinations of maxSurge and maxUnavailable.
var budgets = [][2]string{{"", ""}, {"", ""}, {"0", "1"}, {"1", "1"}, {"2", "0"}, {"2", "2"}, {"2", "1"}, {"100%", "100%"}, {"50%", "50%"}, {"3", "0"}}

// themes are kinds of related events. Each history has an update, a change of size, and some themes, so that related events coincide.
var themes = [][]string{
	{"template", "template-and-scale", "size", "size-and-scale", "replace-all", "undo", "budget", "network", "root-disk", "data-disks"},
	{"pause-update", "update-type", "pause", "max-failures", "resize", "retain"},
	{"scale", "scale-by-one", "delete-first", "delete-first-and-shrink", "order"},
	{"sick", "stubborn", "power-off", "power", "readiness", "shutdown"},
	{"host", "hosts-back", "hide", "move-away", "short-outage", "partial", "outage"},
	{"lose", "lose-all", "foreign-vm", "disk", "snapshot", "root-disk", "data-disks", "repair"},
	{"template-goes", "template-of-spec-goes", "grant", "deny", "limits", "policies-unread", "unread-catalog"},
	{"quota", "quota-tight", "others", "ledger-unread"},
	{"takeover", "dies", "wipe-status", "restore", "edit-in-between", "fail", "slots"},
	{"hub", "record-lost", "record-restored", "mass-deletion", "confirm", "delete", "crd", "annotate-release"},
	{"secret", "user-data", "privileges", "annotate-adopt"},
}

// chance means a random variant.
const chance = -1

// plot is a sequence of related events. A history can have other events between them, and can omit some of them.
type plot []Event

// plots are sequences that are very rare in random histories: an edit while some VM or template of the older revision is missing or in progress. Their
// waits are the longest.
var plots = []plot{
	{{0, "template-of-spec-goes", chance}, {time.Minute, "lose", chance}, {time.Minute, "template-and-scale", chance}},
	{{0, "template-of-spec-goes", chance}, {time.Minute, "scale-by-one", chance}, {time.Minute, "lose-all", chance}, {5 * time.Minute, "template", chance}},
	{{0, "template", 3}, {2 * time.Minute, "sick", chance}, {2 * time.Minute, "undo", 0}},
	{{0, "template", chance}, {time.Minute, "pause-update", chance}, {5 * time.Minute, "sick", chance}, {time.Minute, "sick", chance}},
	{{0, "host", chance}, {time.Minute, "scale-by-one", 0}, {20 * time.Minute, "outage", 1}, {time.Minute, "hosts-back", chance}, {time.Minute, "template", chance}, {time.Minute, "outage", 0}},
	{{0, "quota-tight", chance}, {time.Minute, "template", chance}, {time.Minute, "deny", 6}, {time.Minute, "undo", 0}, {time.Minute, "lose", chance}},
	{{0, "retain", 0}, {time.Minute, "scale-by-one", 0}, {time.Minute, "deny", 6}, {5 * time.Minute, "lose", chance}},
	{{0, "mass-deletion", 1}, {time.Minute, "confirm", 3}, {time.Minute, "delete", 0}},
	{{0, "annotate-release", 1}, {time.Minute, "delete", 0}},
	{{0, "stubborn", chance}, {time.Minute, "scale-by-one", 0}, {time.Minute, "takeover", 0}},
	{{0, "pause", chance}, {time.Minute, "template", chance}, {time.Minute, "scale", chance}, {5 * time.Minute, "pause", chance}},
}

// thicken adds the events of a plot to those of a history, in order.
func thicken(r *rand.Rand, events []Event) (all []Event) {
	for _, e := range plots[r.IntN(len(plots))] {
		for len(events) > 0 && r.IntN(4) == 0 {
			all, events = append(all, events[0]), events[1:]
		}
		if r.IntN(12) == 0 {
			continue
		}
		if e.Wait > 0 {
			e.Wait = time.Duration(r.Int64N(int64(e.Wait/time.Second))) * time.Second
		}
		if e.N == chance {
			e.N = r.IntN(1 << 12)
		}
		all = append(all, e)
	}
	return append(all, events...)
}

// kindsOf returns the kinds of events of one history.
func kindsOf(r *rand.Rand) []string {
	some := make([]string, 0, 14)
	some = append(some, "template", "scale")
	for range 1 + r.IntN(3) {
		theme := themes[r.IntN(len(themes))]
		for range 2 + r.IntN(3) {
			some = append(some, theme[r.IntN(len(theme))])
		}
	}
	return some
}

// generate returns the history of a seed. Each history has only some kinds of events, so that they coincide more often.
func generate(seed uint64) History {
	r := rand.New(rand.NewPCG(seed, 0x6d6f64656c))
	budget := budgets[r.IntN(len(budgets))]
	h := History{Seed: seed, Setup: Setup{
		Replicas: 1 + r.IntN(4), Surge: budget[0], Unavailable: budget[1], Old: r.IntN(2) == 0, Slow: r.IntN(4) == 0, Retain: r.IntN(12) == 0,
		Gate: []v1alpha1.ReadinessGate{"", v1alpha1.GateGuestHeartbeat, v1alpha1.GateGuestHeartbeat, v1alpha1.GateGuestIP}[r.IntN(4)],
	}}
	if r.IntN(3) == 0 {
		h.Setup.MinReady = 30
	}
	if r.IntN(2) == 0 {
		h.Setup.Startup = []int32{60, 120, 300}[r.IntN(3)]
	}
	if r.IntN(3) == 0 {
		h.Setup.Quota.VMs = int64(h.Setup.Replicas + r.IntN(3))
		if r.IntN(3) == 0 {
			h.Setup.Quota.CPUs = 2 * h.Setup.Quota.VMs
		}
		h.Setup.Others = int64(r.IntN(2))
		h.Setup.Quota.VMs += h.Setup.Others
		h.Setup.Quota.CPUs = max(0, h.Setup.Quota.CPUs+h.Setup.Others*min(1, h.Setup.Quota.CPUs))
	}
	if r.IntN(10) == 0 {
		h.Setup.Adopts = 1 + r.IntN(3)
	}
	some := kindsOf(r)
	first := 30 * time.Second
	if r.IntN(3) > 0 {
		first = 10 * time.Minute // the group is at rest first
	}
	for i := range 1 + r.IntN(9) {
		wait := time.Duration(0)
		switch n := r.IntN(10); {
		case i == 0:
			wait = first
		case n < 3:
		case n < 5:
			wait = time.Duration(1+r.IntN(15)) * time.Second
		case n < 8:
			wait = time.Duration(10+r.IntN(120)) * time.Second
		default:
			wait = time.Duration(2+r.IntN(20)) * time.Minute
		}
		h.Events = append(h.Events, Event{Wait: wait, Kind: some[r.IntN(len(some))], N: r.IntN(1 << 12)})
	}
	if r.IntN(3) == 0 {
		h.Events = append(h.Events[:1:1], thicken(r, h.Events[1:min(len(h.Events), 5)])...)
	}
	h.End = []End{Healed, Healed, Healed, Deleted, Deleted, Kept, Forgotten}[r.IntN(7)]
	return h
}
