//go:build unix

package localcluster

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/codeconnect/vmgroup-operator/test/harness/filelock"
)

// dirPrefix begins the name of every temporary directory of this package.
const dirPrefix = "vmgroup-cluster-"

// lockName is a file in each of them. Its owner locks the file for its lifetime.
const lockName = "lock"

// newDir makes a temporary directory and locks it. The caller removes it and then unlocks it.
func newDir(name string) (dir string, unlock func(), err error) {
	for range 10 {
		dir, err = os.MkdirTemp("", dirPrefix+name+"-")
		if err != nil {
			return "", nil, fmt.Errorf("make a directory for cluster %s: %w", name, err)
		}
		lock := filepath.Join(dir, lockName)
		unlock, ok, err := filelock.TryLock(lock)
		if err != nil {
			return "", nil, fmt.Errorf("lock the directory of cluster %s: %w", name, err)
		}
		if ok {
			if _, err := os.Stat(lock); err == nil {
				return dir, unlock, nil
			}
			unlock()
		}
		// Another process swept the directory between its creation and the lock.
	}
	return "", nil, fmt.Errorf("every directory made for cluster %s was removed by another process", name)
}

// Sweep removes the directories and control groups of killed owners of clusters. The kernel removes everything else. Every start of a
// cluster does the same.
func Sweep() { sweep() }

// sweep ignores errors, because they must not prevent a start.
func sweep() {
	locks, _ := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*", lockName))
	for _, path := range locks {
		if unlock, ok, err := filelock.TryLock(path); err == nil && ok {
			dir := filepath.Dir(path)
			// Control groups have the directory's name. If the kernel has not released their processes yet, the directory stays for the
			// next sweep.
			if removeCgroup(filepath.Base(dir)) == nil {
				_ = os.RemoveAll(dir)
			}
			unlock()
		}
	}
}
