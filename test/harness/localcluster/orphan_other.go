//go:build unix && !linux

package localcluster

import "syscall"

// endedByKernel is false: a watchdog must end orphans, because this system has no parent death signal.
const endedByKernel = false

func endWithParent(*syscall.SysProcAttr) {}
