//go:build unix

// Package certmanager runs the real controllers of cert-manager and its cainjector against a cluster of test/harness/localcluster, from the
// module tools/cert-manager. It does not run cert-manager's admission webhook, which would refuse certificates with a validity below one
// hour.
package certmanager

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

// toolName is the directory below tools/.
const toolName = "cert-manager"

// stopPatience is the time to end after SIGTERM. Then the program is killed.
const stopPatience = time.Minute

// startPatience is the timeout for the line of the log that reports readiness.
const startPatience = 2 * time.Minute

// Instance is a running cert-manager.
type Instance struct {
	// Log is the file with its output.
	Log string

	cmd   *exec.Cmd
	stdin io.Closer
	done  chan struct{}
	err   error
}

// Start installs cert-manager's CRDs into the cluster of the kubeconfig and starts the controllers. It returns when they are ready. The log
// is in dir. If the program must be built first, that takes minutes, and out receives the progress. If out is nil, standard error does. ctx
// limits only the start. The program ends with Stop and with this process.
func Start(ctx context.Context, kubeconfigFile, dir string, out io.Writer) (*Instance, error) {
	program, err := assets.Tool(ctx, toolName, out)
	if err != nil {
		return nil, fmt.Errorf("get cert-manager: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfigFile)
	if err != nil {
		return nil, fmt.Errorf("start cert-manager: %w", err)
	}
	if err := InstallCRDs(ctx, config); err != nil {
		return nil, fmt.Errorf("start cert-manager: %w", err)
	}
	instance, output, err := startProgram(program, kubeconfigFile, filepath.Join(dir, "cert-manager.log"))
	if err != nil {
		return nil, fmt.Errorf("start cert-manager: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("it was not ready within %s", startPatience))
	defer cancel()
	select {
	case <-output:
		return instance, nil
	case <-instance.done:
		return nil, fmt.Errorf("start cert-manager: it ended (%w); its log:\n%s", instance.err, instance.Tail(20))
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("start cert-manager: %w", context.Cause(ctx)), instance.Stop())
	}
}

// startProgram returns a channel that is closed when the program reports readiness.
func startProgram(program, kubeconfigFile, log string) (*Instance, <-chan struct{}, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(program, "--kubeconfig="+kubeconfigFile, "--while-stdin")
	cmd.Stderr = file
	// The program has its own process group, so that Ctrl-C in a terminal reaches only the test, which then ends the programs that it
	// started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	instance, ready := &Instance{Log: log, cmd: cmd, stdin: stdin, done: make(chan struct{})}, make(chan struct{})
	go func() {
		defer close(instance.done)
		said := false
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if !said && strings.HasPrefix(lines.Text(), "ready") {
				said = true
				close(ready)
			}
		}
		instance.err = cmd.Wait()
		_ = file.Close()
	}()
	return instance, ready, nil
}

// Stop ends the program with SIGTERM, as kubelet does, and waits for its end. It returns an error if the program had to be killed or ended
// with an error.
func (i *Instance) Stop() error {
	_ = i.cmd.Process.Signal(syscall.SIGTERM)
	defer func() { _ = i.stdin.Close() }()
	timer := time.NewTimer(stopPatience)
	defer timer.Stop()
	select {
	case <-i.done:
	case <-timer.C:
		_ = i.cmd.Process.Kill()
		<-i.done
		return fmt.Errorf("cert-manager did not end within %s of SIGTERM; its log:\n%s", stopPatience, i.Tail(20))
	}
	if i.err != nil {
		return fmt.Errorf("cert-manager ended with %w; its log:\n%s", i.err, i.Tail(20))
	}
	return nil
}

// Done is closed when the program has ended.
func (i *Instance) Done() <-chan struct{} { return i.done }

// Tail returns the last lines of the log.
func (i *Instance) Tail(lines int) string {
	content, err := os.ReadFile(i.Log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
