package quota

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

const (
	// format of the ledgers and of the head. A replica that finds another one grants nothing.
	format = 2
	// plainPart is the maximum size in bytes of a part that is stored as text, for people. A larger part is compressed.
	plainPart = 4 << 10
	// fullSize is the maximum size of a ledger, in bytes. A ConfigMap can have 1 MiB.
	fullSize = 900 << 10
	// readSize limits the unpacked size, in bytes.
	readSize = 64 << 20

	plainKey = "ledger.json"
	// partKey and packedPart name a part of a total's ledger, by its number.
	partKey, packedPart = "part-%02d.json", "part-%02d.json.gz"
)

// ErrFull means that the ledger has no room for an addition.
var ErrFull = errors.New("the ledger of quotas is full: split the groups over several hubs, or remove quotas that are not needed")

type storedState struct {
	Format int `json:"format"`
	// Key, Of and Set are those of a total's ledger. The head has none.
	Key string `json:"key,omitempty"`
	Of  string `json:"of,omitempty"`
	Set string `json:"set,omitempty"`

	Counted map[string][]string `json:"counted,omitempty"`
}

// storedEntry has short names, because there can be thousands.
type storedEntry struct {
	Namespace string   `json:"n"`
	Name      string   `json:"g"`
	Usage     amounts  `json:"u"`
	Beyond    amounts  `json:"b,omitzero"`
	Epoch     [2]int64 `json:"e"`
	Doubted   bool     `json:"d,omitempty"`
	// Gone is true if the group was deleted.
	Gone bool `json:"x,omitempty"`
}

// amounts are VMs, CPUs, GiB of memory and GiB of root disks.
type amounts [4]int64

func amountsOf(u policy.Usage) amounts { return amounts{u.VMs, u.CPU, u.Memory, u.Storage} }

func (a amounts) usage() policy.Usage {
	return policy.Usage{VMs: a[0], CPU: a[1], Memory: a[2], Storage: a[3]}
}

// entryName returns the stored name of a group's entry: the name of its member, which has no slash, and its UID.
func entryName(id Key) string { return id.Member + "/" + string(id.UID) }

func idOf(name string) (id Key, ok bool) {
	member, uid, ok := strings.Cut(name, "/")
	return Key{member, types.UID(uid)}, ok && member != "" && uid != ""
}

// content is the content of a ConfigMap.
type content struct {
	data   map[string]string
	binary map[string][]byte
}

// encodeHead returns the head, which has no entries.
func encodeHead() (content, error) {
	text, err := json.Marshal(storedState{Format: format})
	if err != nil {
		return content{}, fmt.Errorf("encode the format of the ledgers of quotas: %w", err)
	}
	return content{data: map[string]string{plainKey: string(text)}}, nil
}

// encodeTotal returns the ledger of one total. It encodes only new parts.
func encodeTotal(key string, s *State) (content, error) {
	text, err := json.Marshal(storedState{Format: format, Key: key, Of: s.Of, Set: s.Set, Counted: s.Counted})
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
			text, err := json.Marshal(encodeEntries(p.entries))
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

func encodeEntries(entries map[Key]Entry) map[string]storedEntry {
	stored := make(map[string]storedEntry, len(entries))
	for id, e := range entries {
		stored[entryName(id)] = storedEntry{
			Namespace: e.Namespace, Name: e.Name, Usage: amountsOf(e.Usage), Beyond: amountsOf(e.Beyond),
			Epoch: [2]int64{e.Epoch.Generation, e.Epoch.Number}, Doubted: e.Doubted, Gone: e.Usage.Groups == 0,
		}
	}
	return stored
}

// decodeHead checks the head.
func decodeHead(c content) error {
	_, err := decodeFormat(c)
	return err
}

// decodeFormat decodes the fields outside of the parts. It fails for an unknown format.
func decodeFormat(c content) (stored storedState, err error) {
	if err := json.Unmarshal([]byte(c.data[plainKey]), &stored); err != nil {
		return stored, fmt.Errorf("decode the ledger of quotas: %w", err)
	}
	if stored.Format != format {
		return stored, fmt.Errorf("the ledger of quotas has format %d, this operator knows %d", stored.Format, format)
	}
	return stored, nil
}

// decodeTotal decodes the ledger of a total. It does not decode a part again that is stored as in last.
func decodeTotal(key string, c content, last *State) (State, error) {
	stored, err := decodeFormat(c)
	if err != nil {
		return State{}, err
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

// decodeEntries decodes the entries of a total.
func decodeEntries(stored map[string]storedEntry, keys []string) (map[Key]Entry, error) {
	entries := make(map[Key]Entry, len(stored))
	for name, e := range stored {
		id, ok := idOf(name)
		if !ok {
			return nil, fmt.Errorf("the ledger of quotas has an entry for %q, which is no member and UID", name)
		}
		if slices.Min(slices.Concat(e.Usage[:], e.Beyond[:])) < 0 {
			return nil, fmt.Errorf("the ledger of quotas has a negative entry for group %s/%s of member %q", e.Namespace, e.Name, id.Member)
		}
		one := Entry{
			Namespace: e.Namespace, Name: e.Name, Keys: keys, Usage: e.Usage.usage(), Beyond: e.Beyond.usage(),
			Epoch: v1alpha1.Epoch{Generation: e.Epoch[0], Number: e.Epoch[1]}, Doubted: e.Doubted,
		}
		if !e.Gone {
			one.Usage.Groups = 1
		}
		entries[id] = one
	}
	return entries, nil
}

// packers are kept, since the creation of one costs more than packing a part.
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
