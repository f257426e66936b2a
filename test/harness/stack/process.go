//go:build unix

package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/filelock"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

// stopPatience is the time to end after SIGTERM. Then the process is killed.
const stopPatience = 45 * time.Second

// Process is a program of this repository beside the tests: the manager or the vCenter simulator.
type Process struct {
	// Log is the file with its output.
	Log string

	name string
	cmd  *exec.Cmd
	done chan struct{}
	err  error
	// told is true after SIGTERM. A second SIGTERM would end the manager immediately.
	told bool
}

var (
	building sync.Mutex
	// built are the commands that this process has compiled. A program that is started a hundred times must not run the go command a
	// hundred times.
	built = map[string]string{}
)

// build compiles a command of this repository and returns its path. Go compiles only if necessary.
func build(ctx context.Context, name, pkg string, race bool, out io.Writer, flags ...string) (string, error) {
	building.Lock()
	defer building.Unlock()
	if binary, ok := built[name]; ok {
		return binary, nil
	}
	root, err := assets.Root()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(root, "bin", name)
	// One process at a time: Go can write the binary in parts, and another process must not start or copy a part.
	unlock, err := filelock.Lock(ctx, binary+".lock", nil)
	if err != nil {
		return "", fmt.Errorf("build the %s: %w", name, err)
	}
	defer unlock()
	err = progress.GoBuild{
		Label: "the " + name, Hint: "a few minutes the first time", Dir: root, Race: race,
		Flags: append(flags, "-ldflags=-s -w"), Packages: []string{pkg}, Output: binary, Out: out,
	}.Run(ctx)
	if err != nil {
		return "", fmt.Errorf("build the %s: %w", name, err)
	}
	built[name] = binary
	return binary, nil
}

// start runs binary. Its log is <name>.log in dir. A second process of that name appends to the log.
func start(dir, name, binary string, args ...string) (*Process, error) {
	return startIn(dir, name, binary, nil, args...)
}

// startIn is start with additional environment variables, as NAME=value.
func startIn(dir, name, binary string, env []string, args ...string) (*Process, error) {
	log, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = log, log
	// The child has its own process group, so that Ctrl-C reaches only the parent, which then ends its children in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	p := &Process{Log: log.Name(), name: name, cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel sends the parent death signal when the thread that started the child ends, so this thread stays.
		lockThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start the %s: %w", name, err)
	}
	return p, nil
}

// PID of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Alive reports whether the process has not ended.
func (p *Process) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Kill ends the process with SIGKILL and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Stop ends the process with SIGTERM, as kubelet does. It returns an error if the process ended with an error or had to be killed.
func (p *Process) Stop() error {
	select {
	case <-p.done:
		return p.failure()
	default:
	}
	if !p.told {
		p.told = true
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}
	timer := time.NewTimer(stopPatience)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.failure()
	case <-timer.C:
		p.Kill()
		return fmt.Errorf("the %s did not end within %s of SIGTERM; its last words:\n%s", p.name, stopPatience, p.Tail(20))
	}
}

func (p *Process) failure() error {
	var exit *exec.ExitError
	if errors.As(p.err, &exit) && exit.ExitCode() == -1 {
		return nil // a signal of the caller ended it
	}
	if p.err != nil {
		return fmt.Errorf("the %s ended with %w; its last words:\n%s", p.name, p.err, p.Tail(20))
	}
	return nil
}

// Tail returns the last lines of the log.
func (p *Process) Tail(lines int) string {
	content, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimRight(content, "\n"), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
