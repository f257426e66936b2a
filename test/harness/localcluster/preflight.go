//go:build unix

package localcluster

import (
	"context"
	"io"

	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster/machine"
)

// Preflight returns an error with the remedy if this machine cannot run a hub.
func Preflight() error { return machine.Preflight() }

// InstallPackages installs the packages that [Preflight] reports, with Debian's apt-get. out receives the output of apt-get. If nothing is
// missing, it does nothing. If it cannot install them, it returns Preflight's error.
func InstallPackages(ctx context.Context, out io.Writer) error {
	return machine.InstallPackages(ctx, out)
}
