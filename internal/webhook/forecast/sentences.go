package forecast

import (
	"fmt"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/inquiry"
)

// Sentences describe a plan to the sender of the object. A new group whose VMs can be created needs none: the object itself is clear.
func Sentences(p inquiry.Plan, isNew bool) []string {
	if does := phrases(p); !isNew && len(does) > 0 {
		return append([]string{"this change " + join(does)}, p.Waits...)
	}
	return p.Waits
}

// phrases describe a plan.
func phrases(p inquiry.Plan) (does []string) {
	say := func(n int, format string) {
		if n > 0 {
			does = append(does, fmt.Sprintf(format, vms(n)))
		}
	}
	say(p.Adds, "adds %s")
	if p.Removes > 0 {
		does = append(does, leaving(p))
	}
	say(p.PowersOff, "powers off %s")
	say(p.PowersOn, "powers on %s")
	say(p.Replaces, "replaces %s"+inTurn(p.Replaces, p))
	say(p.Restarts, "restarts %s"+inTurn(p.Restarts, p)+" to resize")
	say(p.Resizes, "resizes %s in place without a restart")
	say(p.Grows, "grows disks of %s without a restart")
	say(p.Extends, "adds disks to %s without a restart")
	say(p.Connects, "connects %s to another network without a restart")
	if p.Surge > 0 {
		does = append(does, fmt.Sprintf("needs quota for %d more meanwhile", p.Surge))
	}
	return does
}

// leaving is the phrase about VMs that are removed.
func leaving(p inquiry.Plan) string {
	if p.Retained {
		return "retains " + vms(p.Removes) + " (kept in vCenter): " + enumerate(p.Removed)
	}
	return "removes " + vms(p.Removes) + ": " + enumerate(p.Removed)
}

func inTurn(n int, p inquiry.Plan) string {
	if n > 1 && p.OneByOne {
		return " one by one"
	}
	return ""
}

func vms(n int) string {
	if n == 1 {
		return "1 VM"
	}
	return fmt.Sprintf("%d VMs", n)
}

// enumerate lists as many names as fit into a warning.
func enumerate(names []string) string {
	const room = 120
	length := 0
	for i, name := range names {
		if length += len(name); length > room && i > 0 {
			return strings.Join(names[:i], ", ") + fmt.Sprintf(" and %d more", len(names)-i)
		}
	}
	return strings.Join(names, ", ")
}

func join(phrases []string) string {
	if len(phrases) < 2 {
		return strings.Join(phrases, "")
	}
	last := len(phrases) - 1
	return strings.Join(phrases[:last], ", ") + " and " + phrases[last]
}
