// Package admittedtest keeps records of what was admitted in memory, for tests.
package admittedtest

import (
	"context"
	"sync"

	"github.com/codeconnect/vmgroup-operator/internal/admitted"
)

// size is what a write counts for.
const size = 1 << 10

// Memory has records. Several replicas may share it. The zero value has none.
type Memory struct {
	// OnPut, when set, decides over each write before it is stored.
	OnPut func(admitted.Key, admitted.Entry) error
	// Unread, when set, is why nothing can be read.
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

// Lose removes all records, as who deletes the ConfigMaps does.
func (m *Memory) Lose() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries = nil
}

// Puts is the number of records that were stored.
func (m *Memory) Puts() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.puts
}
