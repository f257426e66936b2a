// Package command has the subcommands of the manager, which a user or a Job runs beside the operator: check, crds, render, shards and version.
// Each uses the caller's own permissions on the hub, and prints for users. Errors are returned and not logged.
package command

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// AddTo adds the subcommands to the command that runs the operator, and --kubeconfig to all of them.
func AddTo(root *cobra.Command, version string) {
	root.AddCommand(shardsCommand(), checkCommand(version), crdsCommand(), renderCommand(), versionCommand(version))
	root.CompletionOptions.DisableDefaultCmd = true
	root.SilenceUsage, root.SilenceErrors = true, true // the caller prints errors, once
	root.PersistentPreRun = func(c *cobra.Command, _ []string) {
		if c != root {
			ctrl.SetLogger(logr.Discard()) // errors are returned
		}
	}
	kubeconfig := flag.NewFlagSet("", flag.ContinueOnError)
	config.RegisterFlags(kubeconfig)
	root.PersistentFlags().AddGoFlagSet(kubeconfig)
}

// ExitCode returns the exit code of the process after a command with this error: 1, unless the error has another one.
func ExitCode(err error) int {
	if errors.Is(err, errVCenterUnreachable) {
		return exitUnreachable
	}
	return 1
}

// Plain returns an error in a form that is safe for a terminal.
func Plain(err error) string { return untrusted.Text(err.Error(), maxCell) }

// maxCell limits a message, in bytes.
const maxCell = 2048

// oneLine returns an error as a part of a sentence.
func oneLine(err error) string {
	return untrusted.Text(strings.Join(strings.Fields(err.Error()), " "), maxCell)
}

// NamespaceFlag adds the flag --namespace, whose default is the namespace of this Pod.
func NamespaceFlag(flags *pflag.FlagSet, namespace *string) {
	flags.StringVar(namespace, "namespace", cmp.Or(os.Getenv("POD_NAMESPACE"), "vmgroup-operator-system"),
		"Namespace of the operator, where its Secrets, its Leases and the shard map are.")
}

func versionCommand(version string) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), version)
			return err
		},
	}
}
