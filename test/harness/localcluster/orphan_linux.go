package localcluster

import "syscall"

// endedByKernel means that endWithParent is enough to end orphans.
const endedByKernel = true

// endWithParent makes the kernel kill the child when its parent dies.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
