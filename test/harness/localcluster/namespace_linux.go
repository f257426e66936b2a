package localcluster

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// namespaces are the node's own Linux namespaces. The node shares users, the clock and control groups with this machine.
const namespaces = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// newNamespaces makes the process the first one of new namespaces.
func newNamespaces(attr *syscall.SysProcAttr) { attr.Cloneflags |= namespaces }

// enterNamespaces moves the current thread into the namespaces of a process. For PID namespaces, this applies to the children of the
// thread. The thread must be locked, and must not be used by others afterwards.
func enterNamespaces(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("enter the node's namespaces: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	// Threads of a process share their working directory and root. The kernel does not change mount namespaces then.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("enter the node's namespaces: %w", err)
	}
	if err := unix.Setns(fd, namespaces); err != nil {
		return fmt.Errorf("enter the node's namespaces: %w", err)
	}
	return nil
}

// onMainThread reports whether the current thread is the first one of this process.
func onMainThread() bool { return unix.Gettid() == unix.Getpid() }

// stacked reports whether a directory is on an overlay file system, on which containerd cannot put another one.
func stacked(dir string) (bool, error) {
	var info unix.Statfs_t
	if err := unix.Statfs(dir, &info); err != nil {
		return false, fmt.Errorf("check the file system of %s: %w", dir, err)
	}
	return info.Type == unix.OVERLAYFS_SUPER_MAGIC, nil
}
