//go:build unix

// Package filelock holds locks that end with the process that took them, however it ends: they are kernel
// locks on an open file (flock), so a killed process never leaves a stale one behind.
//
// Several `go test` processes use them to build a tool once and to tell whose temporary directory is still in use.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// pollInterval is how often Lock looks again. A blocking flock could not be ended by a context.
const pollInterval = 100 * time.Millisecond

// TryLock takes the lock on path without waiting and makes the file when it is missing. ok is false while
// somebody else holds it. The caller owns unlock and may call it once; the file stays, since removing it would
// let two holders lock two files of one name.
func TryLock(path string) (unlock func(), ok bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, false, fmt.Errorf("make the directory of lock file %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, false, fmt.Errorf("open lock file: %w", err)
	}
	for {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return func() { _ = file.Close() }, true, nil
	}
	_ = file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("lock %s: %w", path, err)
}

// Lock takes the lock on path and waits for it until ctx ends. waiting, if set, is called once when the lock is
// found taken, so that a person can be told.
func Lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		unlock, ok, err := TryLock(path)
		if err != nil || ok {
			return unlock, err
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for lock %s: %w", path, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
