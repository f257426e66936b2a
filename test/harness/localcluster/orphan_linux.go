package localcluster

import "syscall"

// endedByKernel says that endWithParent is enough to end orphans.
const endedByKernel = true

// endWithParent has the kernel kill the child when its parent dies.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
