// Package admittedtest keeps records of admitted specs in memory, for tests.
package admittedtest

import (
	"context"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/internal/admitted"
)

// size is the size that a write counts for.
const size = 1 << 10

// Memory has records. Several replicas can share it. The zero value has none.
type Memory struct {
	// OnPut, when set, decides over each write before it is stored.
	OnPut func(admitted.Key, admitted.Entry) error
	// Unread, if set, is the reason why reads fail.
	Unread error

	mu      sync.Mutex
	entries map[admitted.Key]admitted.Entry
	puts    int
}

// Of returns a record.
func (m *Memory) Of(key admitted.Key) (admitted.Entry, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[key]
	return e, ok, m.Unread
}

// OfMember returns the records of a member's groups.
func (m *Memory) OfMember(member string) (map[types.UID]admitted.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[types.UID]admitted.Entry{}
	for key, e := range m.entries {
		if key.Member == member {
			all[key.Group] = e
		}
	}
	return all, m.Unread
}

// Put stores a record.
func (m *Memory) Put(_ context.Context, key admitted.Key, e admitted.Entry) (bytes int, err error) {
	if m.OnPut != nil {
		if err := m.OnPut(key, e); err != nil {
			return 0, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		m.entries = map[admitted.Key]admitted.Entry{}
	}
	e.Admitted = *e.Admitted.DeepCopy()
	m.entries[key] = e
	m.puts++
	return size, nil
}

// Drop removes a record.
func (m *Memory) Drop(key admitted.Key) (bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, key)
	return size
}

// Lose removes all records, like a user who deletes the ConfigMaps.
func (m *Memory) Lose() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries = nil
}

// Backup returns the records as they are, for GoBack.
func (m *Memory) Backup() map[admitted.Key]admitted.Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.entries)
}

// GoBack puts a backup in the place of all records.
func (m *Memory) GoBack(backup map[admitted.Key]admitted.Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries = maps.Clone(backup)
}

// Puts is the number of records that were stored.
func (m *Memory) Puts() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.puts
}
