//go:build unix && !linux

package stack

import "syscall"

// Elsewhere a manager whose parent was killed ends by itself: its API server is gone, and with it the election.
func endWithParent(*syscall.SysProcAttr) {}

func lockThread() {}
