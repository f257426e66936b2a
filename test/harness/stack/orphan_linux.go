package stack

import (
	"runtime"
	"syscall"
)

// endWithParent makes the kernel end the child when this process ends, even if it is killed.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

func lockThread() { runtime.LockOSThread() }
