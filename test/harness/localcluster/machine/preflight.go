// Package machine says whether a hub with a node can run on this machine, and installs what it needs. It has no dependencies, so
// that programs that only ask compile at once.
package machine

import (
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
)

// CNIPlugins is where Debian's package puts the plugins.
const CNIPlugins = "/usr/lib/cni"

// packages lists, for every program that a node needs and this repository does not build, Debian's package.
var packages = []struct{ program, name string }{
	{"runc", "runc"},
	{"iptables", "iptables"},
	{"conntrack", "conntrack"},
	{"ip", "iproute2"},
	{filepath.Join(CNIPlugins, "ptp"), "containernetworking-plugins"},
	{filepath.Join(CNIPlugins, "host-local"), "containernetworking-plugins"},
	{filepath.Join(CNIPlugins, "loopback"), "containernetworking-plugins"},
}

// hidden are directories that look different inside of a node.
var hidden = []string{"/run", "/var/run", "/var/lib", "/var/log", "/proc"}

// Preflight says what keeps this machine from running a hub, and what to do about it; nil if nothing does.
func Preflight() error {
	if err := capable(); err != nil {
		return err
	}
	if missing := missingPackages(); len(missing) > 0 {
		return fmt.Errorf("a hub with a node needs programs that are not installed: apt-get install -y --no-install-recommends %s",
			strings.Join(missing, " "))
	}
	return nil
}

// capable checks what no package changes.
func capable() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("a hub with a node needs the namespaces and control groups of Linux, and this is %s", runtime.GOOS)
	}
	if os.Geteuid() != 0 {
		return errors.New("a hub with a node has to be started by root, who may make namespaces, mounts and links")
	}
	temporary, err := filepath.Abs(os.TempDir())
	if err != nil {
		return err
	}
	for _, dir := range hidden {
		if temporary == dir || strings.HasPrefix(temporary, dir+"/") {
			return fmt.Errorf("a hub with a node cannot have its files in %s, which a node has of its own: set TMPDIR to another directory",
				temporary)
		}
	}
	return nil
}

// missingPackages names the packages whose programs are not there.
func missingPackages() []string {
	var missing []string
	for _, each := range packages {
		if _, err := exec.LookPath(each.program); err != nil {
			missing = append(missing, each.name)
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// InstallPackages installs what [Preflight] misses, with Debian's apt-get, whose output goes to out. It does nothing when
// nothing is missing. Where it cannot help it returns Preflight's error.
func InstallPackages(ctx context.Context, out io.Writer) error {
	if err := capable(); err != nil {
		return err
	}
	missing := missingPackages()
	if len(missing) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return Preflight()
	}
	apt := func(args ...string) error {
		// Another installation may be under way, and a mirror may not answer at once.
		args = append([]string{"-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"}, args...)
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Stdout, cmd.Stderr = out, out
		return cmd.Run()
	}
	install := append([]string{"install", "-y", "--no-install-recommends"}, missing...)
	if apt(install...) == nil {
		return Preflight()
	}
	// The lists of a fresh machine are empty or old.
	if err := errors.Join(apt("update"), apt(install...)); err != nil {
		return fmt.Errorf("install %s: %w", strings.Join(missing, ", "), err)
	}
	return Preflight()
}
