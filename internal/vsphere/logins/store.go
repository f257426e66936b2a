package logins

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"sync"
)

var (
	// ErrConflict means that the book was changed since it was read.
	ErrConflict = errors.New("the memory of logins was changed by another replica")
	// ErrNoStore means that the replicas have no memory in common.
	ErrNoStore = errors.New("the replicas have no common memory of logins")
)

// Book is what is stored of all accounts.
type Book struct {
	// Key makes the IDs of pairs, so that they say nothing to those who do not have it.
	Key []byte
	// Accounts by server and user name.
	Accounts map[string]Account
	// Version that a Save replaces.
	Version string
}

// Store holds the book. Every method is one request, never repeated.
type Store interface {
	// Load returns the book afresh; one that was never saved, or cannot be read, is empty.
	Load(ctx context.Context) (Book, error)
	// Save replaces the book of a version. It fails with ErrConflict when that is not the one that is stored.
	Save(ctx context.Context, b Book) error
}

// Boots are the runs of the program, each with an ID of its own. *sharding.Replica implements it.
type Boots interface {
	// BootDead reports whether the run of another boot has ended or can act no more; false when that is not known. It does not block.
	BootDead(boot string) bool
}

// Memory is a Store of one process.
type Memory struct {
	mu      sync.Mutex
	book    Book
	version int
}

// Load implements Store.
func (m *Memory) Load(context.Context) (Book, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.book
	b.Accounts = maps.Clone(b.Accounts)
	return b, nil
}

// Save implements Store.
func (m *Memory) Save(_ context.Context, b Book) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b.Version != m.book.Version {
		return ErrConflict
	}
	m.version++
	b.Version = strconv.Itoa(m.version)
	b.Accounts = maps.Clone(b.Accounts)
	m.book = b
	return nil
}
