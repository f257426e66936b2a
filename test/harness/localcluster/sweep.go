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

// lockName is a file in each of them that its owner keeps locked while it lives.
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
		// Another process swept the directory between its creation and the lock, and removes or removed it.
	}
	return "", nil, fmt.Errorf("every directory made for cluster %s was removed by another process", name)
}

// Sweep removes what killed owners of clusters left behind: directories and control groups. The kernel removed everything
// else. Every start of a cluster does it too.
func Sweep() { sweep() }

// sweep is best effort: it must not keep anybody from starting.
func sweep() {
	locks, _ := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*", lockName))
	for _, path := range locks {
		if unlock, ok, err := filelock.TryLock(path); err == nil && ok {
			dir := filepath.Dir(path)
			// Control groups have the directory's name. While the kernel still takes apart what was in them, the
			// directory stays, for the next one who sweeps.
			if removeCgroup(filepath.Base(dir)) == nil {
				_ = os.RemoveAll(dir)
			}
			unlock()
		}
	}
}
