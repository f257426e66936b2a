//go:build unix && !linux

package localcluster

import "syscall"

// endedByKernel says that a watchdog has to end orphans: this system has no parent death signal.
const endedByKernel = false

func endWithParent(*syscall.SysProcAttr) {}
