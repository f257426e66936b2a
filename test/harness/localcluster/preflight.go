//go:build unix

package localcluster

import (
	"context"
	"io"

	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster/machine"
)

// Preflight says what keeps this machine from running a hub, and what to do about it; nil if nothing does.
func Preflight() error { return machine.Preflight() }

// InstallPackages installs what [Preflight] misses, with Debian's apt-get, whose output goes to out. It does nothing when
// nothing is missing. Where it cannot help it returns Preflight's error.
func InstallPackages(ctx context.Context, out io.Writer) error {
	return machine.InstallPackages(ctx, out)
}
