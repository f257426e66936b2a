// Package machine reports whether a hub with a node can run on this machine, and installs the required packages. It has few dependencies, so
// that programs that only need the check compile fast.
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

	"github.com/codeconnect/vmgroup-operator/test/harness/debian"
)

// CNIPlugins is the directory of the plugins in Debian's package.
const CNIPlugins = "/usr/lib/cni"

// packages lists the Debian package of every program that a node needs and this repository does not build.
var packages = []struct{ program, name string }{
	{"runc", "runc"},
	{"iptables", "iptables"},
	{"conntrack", "conntrack"},
	{"ip", "iproute2"},
	{filepath.Join(CNIPlugins, "ptp"), "containernetworking-plugins"},
	{filepath.Join(CNIPlugins, "host-local"), "containernetworking-plugins"},
	{filepath.Join(CNIPlugins, "loopback"), "containernetworking-plugins"},
}

// hidden are directories whose content differs inside of a node.
var hidden = []string{"/run", "/var/run", "/var/lib", "/var/log", "/proc"}

// Preflight returns an error with the remedy if this machine cannot run a hub.
func Preflight() error {
	if err := capable(); err != nil {
		return err
	}
	if missing := missingPackages(); len(missing) > 0 {
		return fmt.Errorf("a hub with a node needs programs that are not installed: %s", debian.Remedy(missing...))
	}
	return nil
}

// capable checks the requirements that packages cannot meet.
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

// missingPackages returns the packages of missing programs.
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

// InstallPackages installs the packages that [Preflight] reports, with Debian's apt-get. out receives the output of apt-get. If nothing is
// missing, it does nothing. If it cannot install them, it returns Preflight's error.
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
	if err := debian.Install(ctx, out, missing...); err != nil {
		return err
	}
	return Preflight()
}
