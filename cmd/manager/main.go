// Command manager is the VmGroup operator. It runs on the hub cluster. `manager help` lists its other
// commands.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/codeconnect/vmgroup-operator/internal/command"
	"github.com/codeconnect/vmgroup-operator/internal/operator"
)

// version is set by the linker.
var version = "dev"

func main() {
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:], os.Stdout); err != nil {
		tellEnd(os.Stderr, err)
		os.Exit(command.ExitCode(err))
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	manager := newCommand(operate)
	manager.SetArgs(args)
	manager.SetOut(out)
	return manager.ExecuteContext(ctx)
}

// operate runs the operator until ctx ends.
func operate(ctx context.Context, o options) error {
	logToStderr(o.logLevel)
	o.Version = version
	wired, err := operator.Wire(ctx, o.Options)
	if err != nil {
		return err
	}
	return wired.Run(ctx)
}

// newCommand returns the command line. Without a subcommand, it runs the operator by calling operate.
func newCommand(operate func(context.Context, options) error) *cobra.Command {
	root := operatorCommand(operate)
	command.AddTo(root, version)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		err = fmt.Errorf("%w; see %s --help", err, c.CommandPath())
		if c == root {
			return asOperator(err)
		}
		return err
	})
	return root
}
