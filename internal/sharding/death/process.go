package death

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
)

// PublishedKey is the published entry with the container that a replica runs in; see [Place].
const PublishedKey = "place"

// Place is where a process runs: a container of a Pod. A restarted container is the same place, but another process.
type Place struct {
	Pod       types.UID `json:"pod"`
	Container string    `json:"container"`
}

// String returns the text to publish. It is "" for an unknown place.
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

// ParsePlace reads what String wrote. A text in the format of a later release is an unknown place.
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
	// Boot is unique to this run; [Record] wrote it.
	Boot string
}
