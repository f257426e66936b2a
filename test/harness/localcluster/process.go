//go:build unix

package localcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// stopPatience is the time to end after SIGTERM. Then the process is killed.
	stopPatience = 2 * time.Minute
	// tailLines is the number of log lines in an error.
	tailLines = 15
)

// process is a program that can be started again with the same arguments. Its methods are safe for concurrent use. The caller must not
// start and stop the same process at the same time.
type process struct {
	name string
	path string
	args []string
	log  string // file; a restart appends to it
	// env replaces variables of this process's environment.
	env []string
	// attr changes the attributes of the new process. Nil changes nothing.
	attr func(*syscall.SysProcAttr)
	// enter moves the forking thread into namespaces. Nil does nothing. The process then ends with the first process of the namespaces. It
	// cannot use the parent death signal: its parent has no number in the namespaces, so Go would take the parent for dead.
	enter func() error

	mu  sync.Mutex
	run *run
}

// run is one run of a process. err can be read after done is closed.
type run struct {
	pid  int
	done chan struct{}
	err  error
}

// start starts the process and does not wait until it serves.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run != nil && p.run.alive() {
		return fmt.Errorf("%s already runs with pid %d", p.name, p.run.pid)
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	r := &run{done: make(chan struct{})}
	started := make(chan error)
	go onOwnThread(func() { r.live(p, log, started) })
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.run = r
	return nil
}

// live starts the command and waits for its end in one goroutine that keeps its thread. Linux sends the parent death signal when the
// forking thread ends, and Go can end threads at any time unless they are locked.
func (r *run) live(p *process, log *os.File, started chan<- error) {
	defer func() { _ = log.Close() }()
	if p.enter != nil {
		if err := p.enter(); err != nil {
			started <- err
			return
		}
	}
	cmd := exec.Command(p.path, p.args...)
	cmd.Env = environment(p.env...)
	cmd.Stdout, cmd.Stderr = log, log
	// The process has its own group, so that Ctrl-C in a terminal reaches only this process, which then stops the others in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.enter == nil {
		endWithParent(cmd.SysProcAttr)
	}
	if p.attr != nil {
		p.attr(cmd.SysProcAttr)
	}
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	r.pid = cmd.Process.Pid
	release, err := watchdog(r.pid, !endedByKernel)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		started <- err
		return
	}
	started <- nil
	r.err = cmd.Wait()
	release()
	close(r.done)
}

// onOwnThread calls f on a separate thread that ends with the goroutine, because it can be in other namespaces by then. It is never the
// main thread, which cannot end. The main thread would keep the namespaces forever, and /proc/self would show them to other threads.
func onOwnThread(f func()) {
	runtime.LockOSThread()
	if !onMainThread() {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // another thread, because the first one is in use
		f()
	}()
	<-done
	runtime.UnlockOSThread()
}

// environment returns this process's environment with changed variables and without proxies, because tests connect only to this machine.
func environment(values ...string) []string {
	own := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(strings.ToLower(variable), "=")
		return strings.HasSuffix(name, "_proxy")
	})
	return append(own, values...)
}

func (r *run) alive() bool {
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

// current returns the current run, or nil.
func (p *process) current() *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil || !p.run.alive() {
		return nil
	}
	return p.run
}

// stop ends the process and waits for its end. If the process does not end in time, stop kills it and returns an error. If ctx ends first,
// stop kills it and returns the error of ctx. A process that does not run is no error.
func (p *process) stop(ctx context.Context) error {
	r := p.current()
	if r == nil {
		return nil
	}
	_ = syscall.Kill(r.pid, syscall.SIGTERM)
	patience := time.NewTimer(stopPatience)
	defer patience.Stop()
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		p.kill()
		return fmt.Errorf("%s was killed: %w", p.name, context.Cause(ctx))
	case <-patience.C:
		p.kill()
		return fmt.Errorf("%s did not end within %s after SIGTERM and was killed", p.name, stopPatience)
	}
}

// kill kills the process, as a power failure would, and waits for its end.
func (p *process) kill() {
	if r := p.current(); r != nil {
		_ = syscall.Kill(r.pid, syscall.SIGKILL)
		<-r.done
	}
}

// waitUntil calls ready every tenth of a second until it returns nil. If the process or ctx ends first, the error contains the end of the
// process's log.
func (p *process) waitUntil(ctx context.Context, ready func(context.Context) error) error {
	p.mu.Lock()
	r := p.run
	p.mu.Unlock()
	if r == nil {
		return p.failure(errEnded)
	}
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-r.done:
			return p.failure(fmt.Errorf("%w: %w", errEnded, r.err))
		case <-ctx.Done():
			return p.failure(fmt.Errorf("%w; last answer: %w", context.Cause(ctx), err))
		case <-ticker.C:
		}
	}
}

// errEnded means that a process ended before it served. A likely reason is a port that was taken in between.
var errEnded = errors.New("the process ended")

// failure adds the last lines of the log.
func (p *process) failure(err error) error {
	return fmt.Errorf("%s did not become ready: %w; last lines of its log:\n%s", p.name, err, p.tail())
}

// tail returns the last lines of the log.
func (p *process) tail() string {
	file, err := os.Open(p.log)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	defer func() { _ = file.Close() }()
	// Some lines of an API server are long, but not all.
	if info, err := file.Stat(); err == nil {
		_, _ = file.Seek(max(0, info.Size()-64<<10), io.SeekStart)
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	lines := strings.Split(string(bytes.TrimSpace(content)), "\n")
	return "  " + filepath.Base(p.log) + ": " +
		strings.Join(lines[max(0, len(lines)-tailLines):], "\n  "+filepath.Base(p.log)+": ")
}
