// Package inquiry has the answers of the operator's webhooks to kubectl vmgroup: what an edit would do, and what a namespace can use. The plugin sends a dry
// run under a field manager of its own. The webhook recognizes that manager, and answers with one warning in JSON, instead of sentences that an API server can
// shorten. A dry run needs no other permission than the edit itself, and the API server asks the webhook for the member and the namespace of the edit only.
package inquiry

import (
	"encoding/json"
	"strings"
)

// Manager is the field manager of a dry run that asks for an [Answer].
const Manager = "kubectl-vmgroup-plan"

// prefix of the warning that contains an answer.
const prefix = "vmgroup-answer: "

// room is the number of bytes of an answer. An API server shortens all warnings of a response if together they exceed 4,096 characters.
const room = 3500

// names is the number of VMs that an answer names.
const names = 20

// Answer is the operator's answer about an edit that it accepts.
type Answer struct {
	// Plan is what the operator does.
	Plan Plan `json:"plan"`
	// Notes are sentences about the edit, such as the policies that it would break if it did more.
	Notes []string `json:"notes,omitempty"`
}

// Plan is what the operator does for an edit. The numbers are VMs.
type Plan struct {
	// Unknown is why it is not known what the operator does in vCenter, or empty. The numbers are then zero.
	Unknown string `json:"unknown,omitempty"`
	// Adds are new VMs. Removes are VMs that leave, of which Removed names the first, by ordinal. Retained is true if they are kept in vCenter.
	Adds     int      `json:"adds,omitempty"`
	Removes  int      `json:"removes,omitempty"`
	Removed  []string `json:"removed,omitempty"`
	Retained bool     `json:"retained,omitempty"`
	// PowersOff and PowersOn are VMs whose power state changes and that stay.
	PowersOff int `json:"powersOff,omitempty"`
	PowersOn  int `json:"powersOn,omitempty"`
	// Replaces are VMs that new ones replace, with their disks. Restarts get their size while they are off, and Resizes while they are on. Grows get
	// only larger disks, and Extends also data disks. Connects are connected to another network.
	Replaces int `json:"replaces,omitempty"`
	Restarts int `json:"restarts,omitempty"`
	Resizes  int `json:"resizes,omitempty"`
	Grows    int `json:"grows,omitempty"`
	Extends  int `json:"extends,omitempty"`
	Connects int `json:"connects,omitempty"`
	// OneByOne is true if Replaces and Restarts are changed one at a time.
	OneByOne bool `json:"oneByOne,omitempty"`
	// Surge is the number of additional VMs for which the update needs quota.
	Surge int `json:"surge,omitempty"`
	// Waits are sentences about what does not happen now.
	Waits []string `json:"waits,omitempty"`
}

// Warning encodes the answer. If it is too long, it leaves out sentences from the end.
func (a Answer) Warning() string {
	a.Plan.Removed = a.Plan.Removed[:min(names, len(a.Plan.Removed))]
	for {
		text, fits := encode(a)
		switch {
		case fits:
			return text
		case len(a.Notes) > 0:
			a.Notes = a.Notes[:len(a.Notes)-1]
		case len(a.Plan.Waits) > 0:
			a.Plan.Waits = a.Plan.Waits[:len(a.Plan.Waits)-1]
		default:
			a.Plan.Removed = nil
		}
	}
}

// encode returns an answer as a warning, and whether it is short enough.
func encode(answer any) (text string, fits bool) {
	content, err := json.Marshal(answer)
	return prefix + string(content), err == nil && len(content) <= room
}

// Parse finds the answer among the warnings of a response: an [Answer] or a [Namespace]. ok is false if there is none. others are the warnings of other
// webhooks.
func Parse[T any](warnings []string) (a T, others []string, ok bool) {
	for _, w := range warnings {
		if text, is := strings.CutPrefix(w, prefix); is && !ok && json.Unmarshal([]byte(text), &a) == nil {
			ok = true
			continue
		}
		others = append(others, w)
	}
	return a, others, ok
}
