package quota

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

const (
	// format of the stored ledger. A replica that does not know it grants nothing.
	format = 1
	// plainSize is up to how many bytes the ledger is stored as text, for people; above it is compressed.
	plainSize = 128 << 10
	// fullSize is the most that is stored, in bytes. A ConfigMap may have 1 MiB.
	fullSize = 900 << 10
	// readSize bounds what is unpacked.
	readSize = 64 << 20

	plainKey, packedKey = "ledger.json", "ledger.json.gz"
)

// ErrFull means that the ledger has no room for what was to be added.
var ErrFull = errors.New("the ledger of quotas is full: split the groups over several hubs, or remove quotas that are not needed")

// State is what was granted. It is never changed once it is shared.
type State struct {
	Entries map[Key]Entry
	// Counted are, by quota, the members whose groups have all been entered for it; see markOf.
	Counted map[string][]string
}

// Entry is what one group was granted.
type Entry struct {
	Namespace, Name string
	Usage           policy.Usage
	// Keys are the totals that the group counts in; see keyOf.
	Keys []string
	// Epoch of the holder that wrote it.
	Epoch v1alpha1.Epoch
	// Doubted says that the ledger turned out to be behind what groups have, as one from a backup is. What this entry has beyond what its
	// group holds may be from then, when others had less, and grants nothing before its holder has claimed it anew or given it back.
	Doubted bool
}

type storedState struct {
	Format  int                    `json:"format"`
	Entries map[string]storedEntry `json:"entries,omitempty"`
	Counted map[string][]string    `json:"counted,omitempty"`
}

// storedEntry has short names: there may be thousands.
type storedEntry struct {
	Member    string   `json:"m"`
	Namespace string   `json:"n"`
	Name      string   `json:"g"`
	Usage     [3]int64 `json:"u"` // VMs, CPUs, GiB
	Keys      []string `json:"k,omitempty"`
	Epoch     [2]int64 `json:"e"`
	Doubted   bool     `json:"d,omitempty"`
}

// separator stands between UID and member in the name of an entry.
const separator = "@"

// namesOf returns what entries are stored under: the UID, which is all that older versions know. Two groups have the same one only if the
// API server of a member lies. Then the first member by name has it, and the others stand beside it; so does a UID with the separator in it.
func namesOf(entries map[Key]Entry) map[Key]string {
	first := make(map[types.UID]string, len(entries))
	for id := range entries {
		if member, ok := first[id.UID]; !ok || id.Member < member {
			first[id.UID] = id.Member
		}
	}
	names := make(map[Key]string, len(entries))
	for id := range entries {
		names[id] = string(id.UID)
		if first[id.UID] != id.Member || strings.Contains(string(id.UID), separator) {
			names[id] += separator + id.Member
		}
	}
	return names
}

// content is what a ConfigMap holds.
type content struct {
	data   map[string]string
	binary map[string][]byte
}

func encode(s State) (content, error) {
	stored := storedState{Format: format, Entries: make(map[string]storedEntry, len(s.Entries)), Counted: s.Counted}
	names := namesOf(s.Entries)
	for id, e := range s.Entries {
		stored.Entries[names[id]] = storedEntry{
			Member: id.Member, Namespace: e.Namespace, Name: e.Name, Keys: e.Keys,
			Usage: [3]int64{e.Usage.VMs, e.Usage.CPU, e.Usage.Memory}, Epoch: [2]int64{e.Epoch.Generation, e.Epoch.Number}, Doubted: e.Doubted,
		}
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return content{}, fmt.Errorf("encode the ledger of quotas: %w", err)
	}
	if len(text) <= plainSize {
		return content{data: map[string]string{plainKey: string(text)}}, nil
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		return content{}, fmt.Errorf("pack the ledger of quotas: %w", err)
	}
	if err := w.Close(); err != nil {
		return content{}, fmt.Errorf("pack the ledger of quotas: %w", err)
	}
	if packed.Len() > fullSize {
		return content{}, ErrFull
	}
	return content{binary: map[string][]byte{packedKey: packed.Bytes()}}, nil
}

func decode(c content) (State, error) {
	text := []byte(c.data[plainKey])
	if packed, ok := c.binary[packedKey]; ok {
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return State{}, fmt.Errorf("unpack the ledger of quotas: %w", err)
		}
		if text, err = io.ReadAll(io.LimitReader(r, readSize)); err != nil {
			return State{}, fmt.Errorf("unpack the ledger of quotas: %w", err)
		}
	}
	var stored storedState
	if err := json.Unmarshal(text, &stored); err != nil {
		return State{}, fmt.Errorf("decode the ledger of quotas: %w", err)
	}
	if stored.Format != format {
		return State{}, fmt.Errorf("the ledger of quotas has format %d, this operator knows %d", stored.Format, format)
	}
	s := State{Entries: make(map[Key]Entry, len(stored.Entries)), Counted: stored.Counted}
	for name, e := range stored.Entries {
		if min(e.Usage[0], e.Usage[1], e.Usage[2]) < 0 {
			return State{}, fmt.Errorf("the ledger of quotas has a negative entry for group %s/%s of member %q", e.Namespace, e.Name, e.Member)
		}
		id := Key{e.Member, types.UID(strings.TrimSuffix(name, separator+e.Member))}
		s.Entries[id] = Entry{
			Namespace: e.Namespace, Name: e.Name, Keys: e.Keys,
			Usage: policy.Usage{Groups: 1, VMs: e.Usage[0], CPU: e.Usage[1], Memory: e.Usage[2]},
			Epoch: v1alpha1.Epoch{Generation: e.Epoch[0], Number: e.Epoch[1]}, Doubted: e.Doubted,
		}
	}
	return s, nil
}
