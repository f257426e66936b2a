package death

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
)

// PublishedKey is the published entry of a replica that says in which container it runs; see [Place].
const PublishedKey = "place"

// Place is where a process runs: a container of a Pod. A container that is started again is the same place, and another
// process.
type Place struct {
	Pod       types.UID `json:"pod"`
	Container string    `json:"container"`
}

// String is to be published. It is "" for a place that is not known.
func (p Place) String() string {
	if p.Pod == "" || p.Container == "" {
		return ""
	}
	text, err := json.Marshal(p)
	if err != nil {
		return "" // two strings always encode
	}
	return string(text)
}

// ParsePlace reads what String wrote. What a later release wrote in another way is a place that is not known.
func ParsePlace(text string) (Place, bool) {
	var p Place
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return Place{}, false
	}
	return p, p.Pod != "" && p.Container != ""
}

// Process is one run of a program.
type Process struct {
	Place
	// Boot is unique to this run; it is what [Record] wrote.
	Boot string
}
