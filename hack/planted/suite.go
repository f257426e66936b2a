//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// suite is a list of packages that are tested in turn until a test fails.
type suite []string

// suites by name. The cheap ones of the whole system come first.
var suites = map[string]suite{
	"unit":  {"./internal/..."},
	"whole": {"./test/crash", "./test/integration"},
	"model": {"./test/model"},
}

// notice runs the suite with the files of an overlay. It returns the first test that failed, or "" if none did.
func (s suite) notice(ctx context.Context, programs, overlay string) (string, error) {
	for _, packages := range s {
		caught, err := failing(ctx, programs, overlay, packages)
		if caught != "" || err != nil {
			return caught, err
		}
	}
	return "", nil
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test string
}

func failing(ctx context.Context, programs, overlay, packages string) (string, error) {
	args := append([]string{"test", "-overlay", overlay, "-failfast", "-count=1", "-json", "-timeout", "60m"}, progress.Flags()...)
	cmd := exec.CommandContext(ctx, "go", append(args, packages)...)
	cmd.Env = append(progress.Environ(false), "KUBEBUILDER_ASSETS="+programs, stack.OverlayVariable+"="+overlay, "CRASH_FAIL_FAST=1")
	cmd.Stderr = os.Stderr
	// After a failure, the remaining tests are killed with their process group.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	caught, readErr := firstFailure(out)
	if caught != "" {
		_ = cmd.Cancel()
		_ = cmd.Wait()
		return caught, ctx.Err()
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case readErr != nil:
		return "", readErr
	case err != nil:
		return "", fmt.Errorf("%w: go test %s: %w", errBroken, packages, err)
	}
	return "", nil
}

// firstFailure reads the output of go test -json until a test fails, and returns its name. If no single test fails, for example because the
// set-up failed, it returns the name of the package.
func firstFailure(out io.Reader) (string, error) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Action != "fail" {
			continue
		}
		name := e.Package[strings.LastIndex(e.Package, "vmgroup-operator/")+len("vmgroup-operator/"):]
		if e.Test == "" {
			return name + ", before or after its tests", nil
		}
		return name + " " + e.Test, nil
	}
	return "", lines.Err()
}
