//go:build unix

// Package filelock provides locks that end with the process that took them, even if it is killed. They are kernel locks on an open file
// (flock), so no stale lock remains.
//
// Several `go test` processes use them to build a tool once, and to find temporary directories that are still in use.
package filelock

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// pollInterval is the interval of Lock's attempts. A context cannot end a blocking flock.
const pollInterval = 100 * time.Millisecond

// TryLock takes the lock on path without waiting, and creates a missing file. ok is false while another holder has the lock. The caller
// owns unlock and must call it at most once. The file stays, because two holders could lock two files of one name after its removal.
func TryLock(path string) (unlock func(), ok bool, err error) {
	lock, ok, err := try(path)
	return func() { _ = lock.Close() }, ok, err
}

// Lock takes the lock on path and waits for it until ctx ends. If another holder has the lock, it calls waiting once, if that is set, so
// that the caller can report the wait.
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
