package admitted

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/configmaps"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// prefix of the names of all ConfigMaps with records, and their component.
	prefix                   = "vmgroup-operator-admitted-"
	component                = configmaps.Component("admitted")
	memberAnnotation         = "vm.codeconnect.vmworld.com/cluster-uid"
	formatAnnotation, format = "vm.codeconnect.vmworld.com/format", "1"
	// pageSize is the size in bytes up to which a ConfigMap takes several records. etcd stores the whole ConfigMap for each write of one record, and
	// all replicas receive it.
	pageSize = 2 << 10
	// entrySize is the maximum size of one record, in bytes. Names in a spec that an API server has validated fit if they have no unusual letters.
	entrySize = 3 << 10
	// overhead is the approximate size of a ConfigMap without its records: names, labels, annotations, and managed fields.
	overhead = 1 << 10
	// MostWritten is the maximum number of bytes that etcd stores for one record, except for a record that moves.
	MostWritten = entrySize + overhead
	// memberSize is the maximum size of all records of a member, about 30,000 groups. pages is the maximum number of its ConfigMaps. A hostile API
	// server can make up any number of groups.
	memberSize, pages = 8 << 20, 8192
)

// Key identifies a group.
type Key struct {
	// Member identifies the member cluster, by the UID of its namespace kube-system.
	Member string
	Group  types.UID
}

// KeyOf returns the key of a group in the records.
func KeyOf(group vsphere.GroupKey) Key {
	return Key{Member: group.Member(), Group: types.UID(group.Group())}
}

// Entry is the admitted spec of a group.
type Entry struct {
	Namespace, Name string
	Admitted        v1alpha1.Admitted
	// Epoch of the owner that wrote it.
	Epoch v1alpha1.Epoch
}

// storedEntry is the stored form of an entry.
type storedEntry struct {
	Group    string            `json:"group"`
	Epoch    [2]int64          `json:"epoch"`
	Admitted v1alpha1.Admitted `json:"admitted"`
	// Turn counts the writes of the record, so that the later of two records is known.
	Turn int64 `json:"turn,omitempty"`
}

// record is an entry on a page.
type record struct {
	Entry
	turn int64
	// size in bytes, with the key.
	size int
	// valid is false for an unreadable record. It counts as lost, and keeps its place.
	valid bool
}

// before reports whether a record is older than another one of the same group.
func (r record) before(other record) bool {
	switch {
	case r.valid != other.valid:
		return other.valid
	case r.Epoch != other.Epoch:
		return r.Epoch.Less(other.Epoch)
	}
	return r.turn < other.turn
}

// page is one ConfigMap.
type page struct {
	name, member string
	number       int
	version      string
	size         int
	// records by the name of their key.
	records map[string]record
	// err explains why nothing in the ConfigMap can be read.
	err error
}

// pageName returns the name of a ConfigMap of a member, whose UID can be any string.
func pageName(member string, number int) string {
	return prefix + short(member) + "-" + strconv.Itoa(number)
}

func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

// plain matches the UIDs that can be a key unchanged. The API server of a member can report any string.
var plain = regexp.MustCompile(`^[0-9a-f-]{1,64}$`)

func entryName(group types.UID) string {
	if plain.MatchString(string(group)) {
		return string(group)
	}
	sum := sha256.Sum256([]byte(group))
	return "sha256." + hex.EncodeToString(sum[:])
}

// pageOf reads a ConfigMap. It returns nil for a ConfigMap that is no page: a copy under another name, or of another kind.
func pageOf(object *corev1.ConfigMap) *page {
	member := object.Annotations[memberAnnotation]
	text, ok := strings.CutPrefix(object.Name, prefix+short(member)+"-")
	number, err := strconv.Atoi(text)
	if !ok || err != nil || number < 0 || number >= pages || pageName(member, number) != object.Name {
		return nil
	}
	p := &page{name: object.Name, member: member, number: number, version: object.ResourceVersion, records: make(map[string]record, len(object.Data))}
	if got := object.Annotations[formatAnnotation]; got != format {
		p.err = fmt.Errorf("ConfigMap %q with records of what was admitted has format %q, this operator knows %q; "+
			"if no newer operator runs, delete it: groups that policy allows are recorded anew", object.Name, got, format)
		return p
	}
	for name, text := range object.Data {
		r, err := decode(text)
		r.size, r.valid = len(name)+len(text), err == nil
		p.size += r.size
		p.records[name] = r
	}
	return p
}

func encode(e Entry, turn int64) (string, error) {
	text, err := json.Marshal(storedEntry{
		Group: e.Namespace + "/" + e.Name, Epoch: [2]int64{e.Epoch.Generation, e.Epoch.Number}, Admitted: e.Admitted, Turn: turn,
	})
	if err != nil {
		return "", fmt.Errorf("encode the record of what was admitted: %w", err)
	}
	if len(text) > entrySize {
		return "", ErrFull
	}
	return string(text), nil
}

// errInvalid means that this package did not write the entry.
var errInvalid = errors.New("the record of what was admitted is not valid")

func decode(text string) (record, error) {
	var stored storedEntry
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return record{}, fmt.Errorf("decode the record of what was admitted: %w", err)
	}
	namespace, name, ok := strings.Cut(stored.Group, "/")
	if a := stored.Admitted; !ok || a.CPU < 1 || a.Memory < 1 || a.Replicas < 0 {
		return record{}, errInvalid
	}
	e := Entry{
		Namespace: namespace, Name: name, Admitted: stored.Admitted,
		Epoch: v1alpha1.Epoch{Generation: stored.Epoch[0], Number: stored.Epoch[1]},
	}
	return record{Entry: e, turn: stored.Turn}, nil
}
