// Package quotatest keeps a ledger of quotas in memory, for tests.
package quotatest

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"sync"

	"github.com/codeconnect/vmgroup-operator/internal/quota"
)

// ErrLost is the error of a request whose reply was lost.
var ErrLost = errors.New("the connection was lost")

// Fault is what happens to one write.
type Fault int

// Faults.
const (
	None Fault = iota
	// Refuse fails the write before it is stored.
	Refuse
	// LoseReply stores it and fails.
	LoseReply
	// Fill says that there is no room.
	Fill
)

// Store is a ledger that behaves as an API server does. Several quota.Ledgers may share it. The zero value is empty.
type Store struct {
	// OnWrite, when set, decides over each write before it is looked at. It may itself use the Store.
	OnWrite func() Fault
	// AfterWrite, when set, runs when a write is stored and its reply is on the way. It may itself use the Store.
	AfterWrite func()

	mu      sync.Mutex
	state   quota.State
	version int
	exists  bool
	reads   int
	writes  int
	sinks   []func(quota.Stored)
	// history are all versions that there were, by number; nil for one without a ledger.
	history map[int]*quota.State
}

// Read implements quota.Store.
func (s *Store) Read(context.Context) (quota.Stored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if !s.exists {
		return quota.Stored{}, nil // an API server does not say as of when
	}
	return s.stored(), nil
}

func (s *Store) stored() quota.Stored {
	if !s.exists {
		return quota.Stored{Seen: strconv.Itoa(s.version)}
	}
	version := strconv.Itoa(s.version)
	return quota.Stored{State: clone(s.state), Version: version, Seen: version}
}

// Write implements quota.Store.
func (s *Store) Write(_ context.Context, state quota.State, version string) (string, error) {
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
	if current := s.stored(); current.Version != version {
		s.mu.Unlock()
		return "", quota.ErrConflict
	}
	s.version++
	s.exists, s.state = true, clone(state)
	s.remember()
	stored, sinks := s.stored(), s.sinks
	s.mu.Unlock()
	if s.AfterWrite != nil {
		s.AfterWrite()
	}
	if fault == LoseReply {
		return "", ErrLost
	}
	for _, sink := range sinks {
		sink(stored)
	}
	return stored.Version, nil
}

// Watch implements quota.Store.
func (s *Store) Watch(ctx context.Context, sink func(quota.Stored)) {
	s.mu.Lock()
	s.sinks = append(s.sinks, sink)
	stored := s.stored()
	s.mu.Unlock()
	sink(stored)
	<-ctx.Done()
}

// Lose deletes the ledger.
func (s *Store) Lose() {
	s.mu.Lock()
	s.version++
	s.exists, s.state = false, quota.State{}
	s.remember()
	stored, sinks := s.stored(), s.sinks
	s.mu.Unlock()
	for _, sink := range sinks {
		sink(stored)
	}
}

// remember keeps the current version for GoBack.
func (s *Store) remember() {
	if s.history == nil {
		s.history = map[int]*quota.State{}
	}
	s.history[s.version] = nil
	if s.exists {
		state := clone(s.state)
		s.history[s.version] = &state
	}
}

// GoBack restores the storage to a version of before, as etcd comes back from a backup. The number of the version is that of then; with
// bump it is raised above all that were ever told, as `etcdutl snapshot restore --bump-revision` does. Nobody is told: a watch goes on
// where it was, and hears nothing before the numbers have passed it.
func (s *Store) GoBack(to int, bump int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.history[to]
	s.version, s.exists, s.state = to+bump, state != nil, quota.State{}
	if state != nil {
		s.state = clone(*state)
	}
	s.remember()
}

// Version is the number of the newest version.
func (s *Store) Version() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// Stored returns what is stored.
func (s *Store) Stored() quota.Stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored()
}

// Requests returns how many reads and writes there were.
func (s *Store) Requests() (reads, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads, s.writes
}

func clone(s quota.State) quota.State {
	return quota.State{Entries: maps.Clone(s.Entries), Counted: maps.Clone(s.Counted)}
}
