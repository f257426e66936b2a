// Command manager is the VmGroup operator. It runs on the hub cluster. `manager help` lists what else it does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// version is set by the linker.
var version = "dev"

func main() {
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:], os.Stdout); err != nil {
		tellEnd(os.Stderr, err)
		os.Exit(exitCode(err))
	}
}

// plain is an error as a terminal may show it.
func plain(err error) string { return untrusted.Text(err.Error(), maxCell) }

// exitCode is 1, unless an error says otherwise.
func exitCode(err error) int {
	if errors.Is(err, errVCenterUnreachable) {
		return exitUnreachable
	}
	return 1
}

func run(ctx context.Context, args []string, out io.Writer) error {
	command := newCommand(start)
	command.SetArgs(args)
	command.SetOut(out)
	return command.ExecuteContext(ctx)
}

// newCommand is the command line. Without a subcommand it runs the operator, which is what operate does.
func newCommand(operate func(context.Context, options) error) *cobra.Command {
	root := operatorCommand(operate)
	root.AddCommand(shardsCommand(), checkCommand(), crdsCommand(), renderCommand(), versionCommand())
	root.CompletionOptions.DisableDefaultCmd = true
	root.SilenceUsage, root.SilenceErrors = true, true // main tells errors, once
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		err = fmt.Errorf("%w; see %s --help", err, c.CommandPath())
		if c == root {
			return asOperator(err)
		}
		return err
	})
	root.PersistentPreRun = func(c *cobra.Command, _ []string) {
		if c != root {
			ctrl.SetLogger(logr.Discard()) // what goes wrong is returned
		}
	}
	kubeconfig := flag.NewFlagSet("", flag.ContinueOnError)
	config.RegisterFlags(kubeconfig)
	root.PersistentFlags().AddGoFlagSet(kubeconfig)
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), version)
			return err
		},
	}
}
