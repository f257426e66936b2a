//go:build unix

// Package filelock holds locks that end with the process that took them, however it ends: they are kernel
// locks on an open file (flock), so a killed process never leaves a stale one behind.
//
// Several `go test` processes use them to build a tool once and to tell whose temporary directory is still in use.
package filelock

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// pollInterval is how often Lock looks again. A blocking flock could not be ended by a context.
const pollInterval = 100 * time.Millisecond

// TryLock takes the lock on path without waiting and makes the file when it is missing. ok is false while
// somebody else holds it. The caller owns unlock and may call it once; the file stays, since removing it would
// let two holders lock two files of one name.
func TryLock(path string) (unlock func(), ok bool, err error) {
	lock, ok, err := try(path)
	return func() { _ = lock.Close() }, ok, err
}

// Lock takes the lock on path and waits for it until ctx ends. waiting, if set, is called once when the lock is
// found taken, so that a person can be told.
func Lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	lock, ok, err := try(path)
	if err == nil && !ok {
		if waiting != nil {
			waiting()
		}
		if _, err = lock.TryLockContext(ctx, pollInterval); err != nil {
			err = fmt.Errorf("wait for lock %s: %w", path, err)
		}
	}
	return func() { _ = lock.Close() }, err
}

func try(path string) (lock *flock.Flock, ok bool, err error) {
	lock = flock.New(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return lock, false, fmt.Errorf("make the directory of lock file %s: %w", path, err)
	}
	if ok, err = lock.TryLock(); err != nil {
		return lock, false, fmt.Errorf("lock %s: %w", path, err)
	}
	return lock, ok, nil
}
