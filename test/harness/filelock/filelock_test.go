//go:build unix

package filelock_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/codeconnect/vmgroup-operator/test/harness/filelock"
)

func TestLockIsExclusiveAndReleased(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dir", "lock")
	unlock, err := filelock.Lock(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := filelock.TryLock(path); err != nil || ok {
		t.Fatalf("second TryLock: ok=%v err=%v, want the lock to be taken", ok, err)
	}

	told := make(chan struct{})
	got := make(chan error, 1)
	go func() {
		second, err := filelock.Lock(t.Context(), path, func() { close(told) })
		if err == nil {
			second()
		}
		got <- err
	}()
	<-told
	select {
	case err := <-got:
		t.Fatalf("second Lock returned while the first was held: %v", err)
	default:
	}
	unlock()
	if err := <-got; err != nil {
		t.Fatal(err)
	}
}

func TestLockEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := filelock.Lock(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	_, err = filelock.Lock(ctx, path, cancel)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
}
