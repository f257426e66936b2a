package stack

import (
	"runtime"
	"syscall"
)

// endWithParent lets the kernel end the child when this process ends, however it ends.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

func lockThread() { runtime.LockOSThread() }
