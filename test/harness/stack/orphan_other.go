//go:build unix && !linux

package stack

import "syscall"

// On other systems, a manager whose parent was killed ends with its API server, because it loses the leader election.
func endWithParent(*syscall.SysProcAttr) {}

func lockThread() {}
