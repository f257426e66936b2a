// Package quotatest keeps the ledgers of quotas in memory, for tests.
package quotatest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/codeconnect/vmgroup-operator/internal/quota"
)

// ErrLost is the error of a request whose reply was lost.
var ErrLost = errors.New("the connection was lost")

// Fault is an injected fault of one write.
type Fault int

// Faults.
const (
	None Fault = iota
	// Refuse fails the write before it is stored.
	Refuse
	// LoseReply stores the write and returns an error.
	LoseReply
	// Fill reports that there is no room.
	Fill
)

// Store holds ledgers as an API server does. Several quota.Ledgers can share it. The zero value is empty.
type Store struct {
	// OnWrite, if set, decides the fault of each write before the Store handles it. It can use the Store.
	OnWrite func() Fault
	// AfterWrite, if set, runs after a write is stored and before its reply. It can use the Store.
	AfterWrite func()

	mu      sync.Mutex
	objects map[string]object
	version int
	// uids is the number of created objects. GoBack does not change it: an API server uses no UID twice, even after its storage was restored.
	uids   int
	reads  int
	writes int
	sinks  []func(string, quota.Stored)
	// history has all earlier versions, by number.
	history map[int]map[string]object
	// gone has the versions in which ledgers were deleted.
	gone map[string]int
}

// object is a ledger; the one with the key "" is the head.
type object struct {
	state   quota.State
	version int
	uid     int
	err     error
}

func (s *Store) stored(key string) quota.Stored {
	o, exists := s.objects[key]
	if !exists {
		if gone, ever := s.gone[key]; ever {
			return quota.Stored{Seen: strconv.Itoa(gone)}
		}
		return quota.Stored{} // an API server does not report a version here
	}
	version := strconv.Itoa(o.version)
	stored := quota.Stored{State: o.state, Version: version, Seen: version, Err: o.err}
	if o.err != nil {
		stored.State = quota.State{}
	}
	return stored
}

// Read implements quota.Store.
func (s *Store) Read(_ context.Context, key string) (quota.Stored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	stored := s.stored(key)
	if stored.Version == "" {
		return quota.Stored{}, nil
	}
	return stored, nil
}

// Write implements quota.Store.
func (s *Store) Write(_ context.Context, key string, state quota.State, version string) (string, error) {
	return s.put(key, version, func(o *object) { o.state = state })
}

// MakeHead implements quota.Store.
func (s *Store) MakeHead(context.Context) error {
	_, err := s.put("", "", func(o *object) { o.state = quota.State{Set: strconv.Itoa(o.uid)} })
	return err
}

func (s *Store) put(key, version string, change func(*object)) (string, error) {
	fault := None
	if s.OnWrite != nil {
		fault = s.OnWrite()
	}
	if fault == Refuse {
		return "", ErrLost
	}
	if fault == Fill {
		return "", quota.ErrFull
	}
	s.mu.Lock()
	s.writes++
	if current := s.stored(key); current.Version != version {
		s.mu.Unlock()
		return "", quota.ErrConflict
	}
	s.version++
	o, exists := s.objects[key]
	if o.version, o.err = s.version, nil; !exists {
		s.uids++
		o.uid = s.uids
	}
	change(&o)
	s.set(key, &o)
	stored, sinks := s.stored(key), s.sinks
	s.mu.Unlock()
	if s.AfterWrite != nil {
		s.AfterWrite()
	}
	if fault == LoseReply {
		return "", ErrLost
	}
	for _, sink := range sinks {
		sink(key, stored)
	}
	return stored.Version, nil
}

// set keeps the earlier state for GoBack.
func (s *Store) set(key string, o *object) {
	s.objects = maps.Clone(s.objects)
	if s.objects == nil {
		s.objects = map[string]object{}
	}
	if o == nil {
		delete(s.objects, key)
		if s.gone == nil {
			s.gone = map[string]int{}
		}
		s.gone[key] = s.version
	} else {
		s.objects[key] = *o
	}
	if s.history == nil {
		s.history = map[int]map[string]object{}
	}
	s.history[s.version] = s.objects
}

// Delete implements quota.Store.
func (s *Store) Delete(_ context.Context, key, version string) error {
	s.mu.Lock()
	match := s.stored(key).Version == version
	s.mu.Unlock()
	if !match {
		return quota.ErrConflict
	}
	s.Lose(key)
	return nil
}

// Watch implements quota.Store.
func (s *Store) Watch(ctx context.Context, o quota.Observer) {
	s.mu.Lock()
	s.sinks = append(s.sinks, o.Observe)
	s.mu.Unlock()
	s.Tell(o.Observe)
	<-ctx.Done()
}

// Lose deletes some ledgers, or all.
func (s *Store) Lose(keys ...string) {
	if len(keys) == 0 {
		keys = slices.Sorted(maps.Keys(s.Stored()))
	}
	for _, key := range keys {
		s.mu.Lock()
		s.version++
		s.set(key, nil)
		stored, sinks := s.stored(key), s.sinks
		s.mu.Unlock()
		for _, sink := range sinks {
			sink(key, stored)
		}
	}
}

// Spoil makes a ledger unreadable.
func (s *Store) Spoil(key string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	o := s.objects[key]
	o.version, o.err = s.version, err
	s.set(key, &o)
}

// Put stores a ledger like a restore from a backup: under another UID if it does not exist.
func (s *Store) Put(key string, from map[string]quota.Stored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	o, exists := s.objects[key]
	if !exists {
		s.uids++
		o.uid = s.uids
	}
	if o.version, o.err, o.state = s.version, nil, from[key].State; key == "" {
		o.state.Set = strconv.Itoa(o.uid)
	}
	s.set(key, &o)
}

// GoBack restores the storage to an earlier version, as etcd is restored from a backup. The version number is the one of that time. With bump, it is
// raised above all reported ones, as `etcdutl snapshot restore --bump-revision` does. Watches are not notified: a watch continues at its version, and
// gets no events until the numbers have passed it.
func (s *Store) GoBack(to int, bump int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.objects
	s.version, s.objects, s.gone = to+bump, maps.Clone(s.history[to]), map[string]int{}
	for key := range now {
		if _, exists := s.objects[key]; !exists {
			s.gone[key] = s.version
		}
	}
	for key, o := range s.objects {
		o.version += bump
		s.objects[key] = o
	}
	if s.history == nil {
		s.history = map[int]map[string]object{}
	}
	s.history[s.version] = s.objects
}

// Version returns the number of the newest version.
func (s *Store) Version() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// Stored returns all stored and deleted ledgers, by key.
func (s *Store) Stored() map[string]quota.Stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]quota.Stored{}
	for key := range s.gone {
		all[key] = s.stored(key)
	}
	for key := range s.objects {
		all[key] = s.stored(key)
	}
	return all
}

// Entries returns the entries that count, each group with the largest entry in its totals.
func (s *Store) Entries() map[quota.Key]quota.Entry {
	stored := s.Stored()
	entries := map[quota.Key]quota.Entry{}
	for key, one := range stored {
		if one.State.Set != stored[""].State.Set || key != "" && one.State.Set == "" {
			continue
		}
		for id, e := range one.State.Entries() {
			if before, ok := entries[id]; ok {
				e.Usage = e.Usage.Max(before.Usage)
			}
			entries[id] = e
		}
	}
	return entries
}

// Tell sends all stored ledgers to a watch, those of totals first, and the deleted ones.
func (s *Store) Tell(sink func(string, quota.Stored)) {
	stored := s.Stored()
	keys := slices.Sorted(maps.Keys(stored))
	slices.Reverse(keys)
	for _, key := range keys {
		sink(key, stored[key])
	}
	if _, ok := stored[""]; !ok {
		sink("", quota.Stored{Seen: strconv.Itoa(s.Version())})
	}
}

// Requests returns the numbers of reads and writes.
func (s *Store) Requests() (reads, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads, s.writes
}
