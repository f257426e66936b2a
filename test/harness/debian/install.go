// Package debian installs packages of Debian that tests need and this repository does not build. It has no dependencies, so that programs
// that only install packages compile fast.
package debian

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Remedy returns the command that installs the packages.
func Remedy(packages ...string) string {
	return "apt-get install -y --no-install-recommends " + strings.Join(packages, " ")
}

// Install installs the packages with apt-get. out receives the output of apt-get. Without root or without apt-get, it changes nothing and
// returns an error with the remedy.
func Install(ctx context.Context, out io.Writer, packages ...string) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("only root can install packages: sudo %s", Remedy(packages...))
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("without apt-get, install these packages another way: %s", strings.Join(packages, " "))
	}
	apt := func(args ...string) error {
		// Another installation can be running, and a mirror can be slow.
		args = append([]string{"-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"}, args...)
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Stdout, cmd.Stderr = out, out
		return cmd.Run()
	}
	install := append([]string{"install", "-y", "--no-install-recommends"}, packages...)
	if apt(install...) == nil {
		return nil
	}
	// The package lists of a fresh machine are empty or old.
	if err := errors.Join(apt("update"), apt(install...)); err != nil {
		return fmt.Errorf("install %s: %w", strings.Join(packages, ", "), err)
	}
	return nil
}
