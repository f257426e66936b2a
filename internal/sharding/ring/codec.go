package ring

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"
)

const (
	// dataKey is the only key of the ConfigMap's data.
	dataKey = "ring.json"
	// format of what Encode writes. It is raised with every change of wire: Decode accepts no other.
	format = 1
	// free is the index of a lock without a holder.
	free = -1
)

// wire is the stored form of the shard map. Sessions are listed once, in the order in which they first occur.
type wire struct {
	Format     int        `json:"format"`
	Buckets    int        `json:"buckets"`
	Hash       string     `json:"hash"`
	Validity   string     `json:"validity"`
	Patience   string     `json:"patience"`
	Generation int64      `json:"generation"`
	Rebuilt    int64      `json:"rebuilt"`
	Sequence   int64      `json:"sequence"`
	Sessions   []string   `json:"sessions"`
	Leader     wireLock   `json:"leader"`
	Locks      []wireLock `json:"slots"`
}

// wireLock is the index of the holder in wire.Sessions, or free, and the lock's number.
type wireLock [2]int64

// Encode returns the shard map as the data of a ConfigMap: about 2 KB for 128 buckets and 10 sessions. The same shard
// map gives the same bytes. The error is an *InvalidError, for a shard map that Decode would not accept.
func Encode(r Ring) (map[string]string, error) {
	if err := check(r); err != nil {
		return nil, err
	}
	text, err := json.Marshal(toWire(r))
	if err != nil {
		return nil, &InvalidError{Reason: "it cannot be written as JSON", Err: err}
	}
	return map[string]string{dataKey: string(text)}, nil
}

func toWire(r Ring) wire {
	w := wire{
		Format:     format,
		Buckets:    r.Settings.Buckets,
		Hash:       r.Settings.Hash,
		Validity:   r.Settings.Validity.String(),
		Patience:   r.Settings.Patience.String(),
		Generation: r.Generation,
		Rebuilt:    r.Rebuilt,
		Sequence:   r.Sequence,
		Sessions:   []string{},
		Locks:      make([]wireLock, 0, len(r.Buckets)),
	}
	indices := map[string]int64{"": free}
	lock := func(s Lock) wireLock {
		index, known := indices[s.Holder]
		if !known {
			index = int64(len(w.Sessions))
			indices[s.Holder] = index
			w.Sessions = append(w.Sessions, s.Holder)
		}
		return wireLock{index, s.Number}
	}
	w.Leader = lock(r.Leader)
	for _, s := range r.Buckets {
		w.Locks = append(w.Locks, lock(s))
	}
	return w
}

// Decode returns the shard map that Encode wrote. It accepts exactly what Encode writes, to the byte: an edited record
// must not decide which session holds a bucket. The error is an *InvalidError.
func Decode(data map[string]string) (Ring, error) {
	text, found := data[dataKey]
	if !found {
		return Ring{}, invalid("there is no %q in the data", dataKey)
	}
	w, err := parse(text)
	if err != nil {
		return Ring{}, err
	}
	r, err := w.ring()
	if err != nil {
		return Ring{}, err
	}
	// This finds all that the parser accepts: unknown and repeated fields, other keys, sessions that hold nothing.
	again, err := Encode(r)
	if err != nil {
		return Ring{}, err
	}
	if !maps.Equal(data, again) {
		return Ring{}, invalid("it is not in this operator's format; a user has edited it")
	}
	return r, nil
}

func parse(text string) (wire, error) {
	// The format comes first: the fields of another format can have other types.
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal([]byte(text), &head); err != nil {
		return wire{}, &InvalidError{Reason: "it cannot be parsed", Err: err}
	}
	if head.Format != format {
		return wire{}, &InvalidError{
			Reason: fmt.Sprintf("its format is %d, this version knows only %d", head.Format, format),
			Format: head.Format,
		}
	}
	var w wire
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return wire{}, &InvalidError{Reason: "it cannot be parsed", Err: err}
	}
	return w, nil
}

func (w wire) ring() (Ring, error) {
	validity, err := time.ParseDuration(w.Validity)
	if err != nil {
		return Ring{}, &InvalidError{Reason: "its validity is no duration", Err: err}
	}
	patience, err := time.ParseDuration(w.Patience)
	if err != nil {
		return Ring{}, &InvalidError{Reason: "its takeover timeout is no duration", Err: err}
	}
	r := Ring{
		Settings:   Settings{Buckets: w.Buckets, Hash: w.Hash, Validity: validity, Patience: patience},
		Generation: w.Generation,
		Rebuilt:    w.Rebuilt,
		Sequence:   w.Sequence,
		Buckets:    make([]Lock, len(w.Locks)),
	}
	var known bool
	if r.Leader, known = w.lock(w.Leader); !known {
		return Ring{}, invalid("the leader's lock: its holder is session %d of %d", w.Leader[0], len(w.Sessions))
	}
	for b, s := range w.Locks {
		if r.Buckets[b], known = w.lock(s); !known {
			return Ring{}, invalid("bucket %d: its holder is session %d of %d", b, s[0], len(w.Sessions))
		}
	}
	return r, nil
}

// lock returns false if no session has that index.
func (w wire) lock(s wireLock) (Lock, bool) {
	index, number := s[0], s[1]
	switch {
	case index == free:
		return Lock{Number: number}, true
	case index < 0 || index >= int64(len(w.Sessions)):
		return Lock{}, false
	}
	return Lock{Holder: w.Sessions[index], Number: number}, true
}
