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

	"github.com/codeconnect/vmgroup-operator/test/assets"
	"github.com/codeconnect/vmgroup-operator/test/progress"
)

// stopPatience is how long a manager may take to end after SIGTERM before it is killed.
const stopPatience = 30 * time.Second

// Manager is a process of the operator.
type Manager struct {
	// Log is the file that holds its output.
	Log string

	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

var building sync.Mutex

// BuildManager builds cmd/manager into the cache directory and returns its path. Go decides whether there is
// anything to do.
func BuildManager(ctx context.Context, out io.Writer) (string, error) {
	building.Lock()
	defer building.Unlock()
	root, err := assets.Root()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(root, "bin", "manager-for-tests")
	err = progress.GoBuild{
		Label: "the manager", Hint: "a few minutes the first time", Dir: root,
		Packages: []string{"./cmd/manager"}, Output: binary, Out: out,
	}.Run(ctx)
	if err != nil {
		return "", fmt.Errorf("build the manager: %w", err)
	}
	return binary, nil
}

// StartManager starts the manager on a hub. Its log is <name>.log in the stack's directory; a second manager
// of that name continues the log.
func (s *Stack) StartManager(name string, hub *Cluster, args ...string) (*Manager, error) {
	log, err := os.OpenFile(filepath.Join(s.Dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(s.binary, append([]string{
		"--kubeconfig=" + hub.KubeconfigFile, "--namespace=" + Namespace,
		"--metrics-bind-address=0", "--health-probe-bind-address=0",
	}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	endWithParent(cmd.SysProcAttr)
	m := &Manager{Log: log.Name(), cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// A parent death signal is sent when the thread that started the child ends, so this one is kept.
		lockThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			m.err = cmd.Wait()
		}
		close(m.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start the manager: %w", err)
	}
	return m, nil
}

// Done is closed when the process has ended.
func (m *Manager) Done() <-chan struct{} { return m.done }

// Kill ends the process with SIGKILL and waits for its end.
func (m *Manager) Kill() {
	_ = m.cmd.Process.Kill()
	<-m.done
}

// Stop ends the process with SIGTERM, as a kubelet would. It returns an error when the process ended with one,
// or had to be killed.
func (m *Manager) Stop() error {
	select {
	case <-m.done:
		return m.failure()
	default:
	}
	_ = m.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(stopPatience)
	defer timer.Stop()
	select {
	case <-m.done:
		return m.failure()
	case <-timer.C:
		m.Kill()
		return fmt.Errorf("the manager did not end within %s of SIGTERM; its last words:\n%s", stopPatience, m.Tail(20))
	}
}

func (m *Manager) failure() error {
	var exit *exec.ExitError
	if errors.As(m.err, &exit) && exit.ExitCode() == -1 {
		return nil // ended by a signal that the caller sent
	}
	if m.err != nil {
		return fmt.Errorf("the manager ended with %w; its last words:\n%s", m.err, m.Tail(20))
	}
	return nil
}

// Tail returns the last lines of the log.
func (m *Manager) Tail(lines int) string {
	content, err := os.ReadFile(m.Log)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimRight(content, "\n"), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
