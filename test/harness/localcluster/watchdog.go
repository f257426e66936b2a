//go:build unix

package localcluster

import (
	"fmt"
	"os/exec"
	"strconv"
	"syscall"
)

// watchdog starts a shell that kills pid when this process ends, if needed. The shell waits for the end of a pipe whose other end only this
// process has, so it notices every kind of death. The caller calls release when pid has ended, because another process can get the number
// then.
func watchdog(pid int, needed bool) (release func(), err error) {
	if !needed {
		return func() {}, nil
	}
	cmd := exec.Command("/bin/sh", "-c", `read -r _; kill -9 "$0"`, strconv.Itoa(pid))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start a watchdog for pid %d: %w", pid, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a watchdog for pid %d: %w", pid, err)
	}
	return func() {
		// Kill the shell before the pipe closes, so that it does not act.
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = pipe.Close()
	}, nil
}
