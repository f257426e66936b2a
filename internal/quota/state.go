package quota

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

const (
	// formatWhole is that of one ledger for all totals, formatTotals that of a ledger for each. A replica that does not know a format grants
	// nothing.
	formatWhole, formatTotals = 1, 2
	// plainSize is up to how many bytes the ledger of all totals is stored as text, for people, and plainPart a part of a total's; above it
	// is compressed.
	plainSize, plainPart = 128 << 10, 4 << 10
	// fullSize is the most that is stored, in bytes. A ConfigMap may have 1 MiB.
	fullSize = 900 << 10
	// readSize bounds what is unpacked.
	readSize = 64 << 20

	plainKey, packedKey = "ledger.json", "ledger.json.gz"
	// partKey and packedPart name a part of a total's ledger, by its number.
	partKey, packedPart = "part-%02d.json", "part-%02d.json.gz"
)

// ErrFull means that the ledger has no room for what was to be added.
var ErrFull = errors.New("the ledger of quotas is full: split the groups over several hubs, or remove quotas that are not needed")

type storedState struct {
	Format int `json:"format"`
	// From is in the ConfigMap of the first format that one of the second has taken the place of: the version of the ledger that was split.
	From string `json:"from,omitempty"`
	// Key, Of and Set are those of a total's ledger.
	Key string `json:"key,omitempty"`
	Of  string `json:"of,omitempty"`
	Set string `json:"set,omitempty"`

	Entries map[string]storedEntry `json:"entries,omitempty"`
	Counted map[string][]string    `json:"counted,omitempty"`
}

// storedEntry has short names: there may be thousands.
type storedEntry struct {
	Member    string   `json:"m"`
	Namespace string   `json:"n"`
	Name      string   `json:"g"`
	Usage     [3]int64 `json:"u"` // VMs, CPUs, GiB
	Beyond    [3]int64 `json:"b,omitzero"`
	Keys      []string `json:"k,omitempty"`
	Epoch     [2]int64 `json:"e"`
	Doubted   bool     `json:"d,omitempty"`
	// Gone: the group is not there any more. A replica that does not know this counts it.
	Gone bool `json:"x,omitempty"`
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

// encodeWhole returns the ledger of all totals.
func encodeWhole(s *State) (content, error) {
	text, err := json.Marshal(storedState{Format: formatWhole, Entries: encodeEntries(s.Entries(), true), Counted: s.Counted})
	if err != nil {
		return content{}, fmt.Errorf("encode the ledger of quotas: %w", err)
	}
	if len(text) <= plainSize {
		return content{data: map[string]string{plainKey: string(text)}}, nil
	}
	packed, err := pack(text)
	if err != nil {
		return content{}, err
	}
	if len(packed) > fullSize {
		return content{}, ErrFull
	}
	return content{binary: map[string][]byte{packedKey: packed}}, nil
}

// encodeMarker returns what stands in the place of the ledger of all totals once each has its own.
func encodeMarker(from string) (content, error) {
	text, err := json.Marshal(storedState{Format: formatTotals, From: from})
	if err != nil {
		return content{}, fmt.Errorf("encode the format of the ledgers of quotas: %w", err)
	}
	return content{data: map[string]string{plainKey: string(text)}}, nil
}

// encodeTotal returns the ledger of one total. Of the parts only those are encoded that are new.
func encodeTotal(key string, s *State) (content, error) {
	text, err := json.Marshal(storedState{Format: formatTotals, Key: key, Of: s.Of, Set: s.Set, Counted: s.Counted})
	if err != nil {
		return content{}, fmt.Errorf("encode a ledger of quotas: %w", err)
	}
	c := content{data: map[string]string{plainKey: string(text)}, binary: map[string][]byte{}}
	size := len(text)
	for n, p := range s.parts {
		if p == nil {
			continue
		}
		stored := p.stored.Load()
		if stored == nil {
			text, err := json.Marshal(encodeEntries(p.entries, false))
			if err != nil {
				return content{}, fmt.Errorf("encode a ledger of quotas: %w", err)
			}
			if len(text) > plainPart {
				if text, err = pack(text); err != nil {
					return content{}, err
				}
			}
			stored = new(string(text))
			p.stored.Store(stored)
		}
		if size += len(*stored); strings.HasPrefix(*stored, "{") {
			c.data[fmt.Sprintf(partKey, n)] = *stored
		} else {
			c.binary[fmt.Sprintf(packedPart, n)] = []byte(*stored)
		}
	}
	if size > fullSize {
		return content{}, ErrFull
	}
	return c, nil
}

func encodeEntries(entries map[Key]Entry, keys bool) map[string]storedEntry {
	stored := make(map[string]storedEntry, len(entries))
	names := namesOf(entries)
	for id, e := range entries {
		one := storedEntry{
			Member: id.Member, Namespace: e.Namespace, Name: e.Name, Usage: [3]int64{e.Usage.VMs, e.Usage.CPU, e.Usage.Memory},
			Beyond: [3]int64{e.Beyond.VMs, e.Beyond.CPU, e.Beyond.Memory},
			Epoch:  [2]int64{e.Epoch.Generation, e.Epoch.Number}, Doubted: e.Doubted, Gone: e.Usage.Groups == 0,
		}
		if keys {
			one.Keys = e.Keys
		}
		stored[names[id]] = one
	}
	return stored
}

// decodeWhole reads the ledger of all totals, or what stands in its place.
func decodeWhole(c content) (format int, from string, s State, err error) {
	text := []byte(c.data[plainKey])
	if packed, ok := c.binary[packedKey]; ok {
		if text, err = unpack(packed); err != nil {
			return 0, "", State{}, err
		}
	}
	var stored storedState
	if err := json.Unmarshal(text, &stored); err != nil {
		return 0, "", State{}, fmt.Errorf("decode the ledger of quotas: %w", err)
	}
	switch stored.Format {
	case formatTotals:
		return formatTotals, stored.From, State{}, nil
	case formatWhole:
	default:
		return 0, "", State{}, fmt.Errorf("the ledger of quotas has format %d, this operator knows %d and %d", stored.Format, formatWhole, formatTotals)
	}
	entries, err := decodeEntries(stored.Entries, nil)
	if err != nil {
		return 0, "", State{}, err
	}
	s = StateOf(entries)
	s.Counted = stored.Counted
	return formatWhole, "", s, nil
}

// decodeTotal reads the ledger of a total. What is stored as it was in last is not decoded again.
func decodeTotal(key string, c content, last *State) (State, error) {
	var stored storedState
	if err := json.Unmarshal([]byte(c.data[plainKey]), &stored); err != nil {
		return State{}, fmt.Errorf("decode the ledger of quotas: %w", err)
	}
	if stored.Format != formatTotals {
		return State{}, fmt.Errorf("the ledger of quotas has format %d, this operator knows %d", stored.Format, formatTotals)
	}
	if stored.Key != key {
		return State{}, fmt.Errorf("it is the ledger of total %q under the name of another", stored.Key)
	}
	s := State{Set: stored.Set, Of: stored.Of, Counted: stored.Counted}
	keys := []string{key}
	for n := range parts {
		text, plain := c.data[fmt.Sprintf(partKey, n)]
		packed, isPacked := c.binary[fmt.Sprintf(packedPart, n)]
		switch {
		case plain && isPacked:
			return State{}, fmt.Errorf("part %d of the ledger of quotas is there twice", n)
		case isPacked:
			text = string(packed)
		case !plain:
			continue
		}
		if p := last.parts[n]; p != nil {
			if before := p.stored.Load(); before != nil && *before == text {
				s.parts[n] = p
				continue
			}
		}
		p, err := decodePart(n, text, isPacked, keys)
		if err != nil {
			return State{}, err
		}
		s.parts[n] = p
	}
	s.freeze()
	return s, nil
}

func decodePart(n int, text string, packed bool, keys []string) (*part, error) {
	plain := []byte(text)
	if packed {
		var err error
		if plain, err = unpack(plain); err != nil {
			return nil, err
		}
	}
	var stored map[string]storedEntry
	if err := json.Unmarshal(plain, &stored); err != nil {
		return nil, fmt.Errorf("decode part %d of the ledger of quotas: %w", n, err)
	}
	entries, err := decodeEntries(stored, keys)
	if err != nil {
		return nil, err
	}
	for id := range entries {
		if partOf(id.UID) != n {
			return nil, fmt.Errorf("the ledger of quotas has group %q of member %q in part %d, where it does not belong", id.UID, id.Member, n)
		}
	}
	p := &part{entries: entries}
	p.stored.Store(&text)
	return p, nil
}

// decodeEntries reads entries; keys are their totals unless it is nil.
func decodeEntries(stored map[string]storedEntry, keys []string) (map[Key]Entry, error) {
	entries := make(map[Key]Entry, len(stored))
	for name, e := range stored {
		if min(e.Usage[0], e.Usage[1], e.Usage[2], e.Beyond[0], e.Beyond[1], e.Beyond[2]) < 0 {
			return nil, fmt.Errorf("the ledger of quotas has a negative entry for group %s/%s of member %q", e.Namespace, e.Name, e.Member)
		}
		one := Entry{
			Namespace: e.Namespace, Name: e.Name, Keys: keys,
			Usage:  policy.Usage{Groups: 1, VMs: e.Usage[0], CPU: e.Usage[1], Memory: e.Usage[2]},
			Beyond: policy.Usage{VMs: e.Beyond[0], CPU: e.Beyond[1], Memory: e.Beyond[2]},
			Epoch:  v1alpha1.Epoch{Generation: e.Epoch[0], Number: e.Epoch[1]}, Doubted: e.Doubted,
		}
		if e.Gone {
			one.Usage.Groups = 0
		}
		if keys == nil {
			one.Keys = e.Keys
		}
		entries[Key{e.Member, types.UID(strings.TrimSuffix(name, separator+e.Member))}] = one
	}
	return entries, nil
}

// packers are kept, since making one costs more than packing a part.
var packers = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}

func pack(text []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, ok := packers.Get().(*gzip.Writer)
	if !ok {
		w = gzip.NewWriter(io.Discard)
	}
	defer packers.Put(w)
	w.Reset(&packed)
	if _, err := w.Write(text); err != nil {
		return nil, fmt.Errorf("pack the ledger of quotas: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack the ledger of quotas: %w", err)
	}
	return packed.Bytes(), nil
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack the ledger of quotas: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, readSize))
	if err != nil {
		return nil, fmt.Errorf("unpack the ledger of quotas: %w", err)
	}
	return text, nil
}
