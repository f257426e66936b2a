//go:build unix && !linux

package localcluster

import (
	"errors"
	"syscall"
)

var errNotLinux = errors.New("a node needs the namespaces of Linux")

func newNamespaces(*syscall.SysProcAttr) {}

func enterNamespaces(int) error { return errNotLinux }

// onMainThread has no effect on systems without namespaces of threads.
func onMainThread() bool { return false }

func stacked(string) (bool, error) { return false, errNotLinux }
