package logins

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"sync"
)

var (
	// ErrConflict means that the book changed since it was read.
	ErrConflict = errors.New("the memory of logins was changed by another replica")
	// ErrNoStore means that the replicas have no common memory.
	ErrNoStore = errors.New("the replicas have no common memory of logins")
)

// Book is the stored data of all accounts.
type Book struct {
	// Key generates the IDs of pairs, so that they reveal nothing without the key.
	Key []byte
	// Accounts by server and user name.
	Accounts map[string]Account
	// Version that a Save replaces.
	Version string
}

// Store holds the book. Every method is one request, never repeated.
type Store interface {
	// Load returns the current book. A book that was never saved, or that is unreadable, is empty.
	Load(ctx context.Context) (Book, error)
	// Save replaces the book of a version. If another version is stored, it fails with ErrConflict.
	Save(ctx context.Context, b Book) error
}

// Boots are the runs of the program, each with its own ID. *sharding.Replica implements it.
type Boots interface {
	// BootDead reports whether another boot has ended or can no longer act. If that is unknown, it returns false. It does not block.
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
