// Package cli is the command line of kubectl vmgroup.
package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/term"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// hubContextVariable names the context of the hub if --hub-context does not.
const hubContextVariable = "VMGROUP_HUB_CONTEXT"

// Options are those of all commands.
type Options struct {
	genericiooptions.IOStreams
	// Version of the plugin.
	Version string
	// Now is the clock.
	Now func() time.Time

	// CacheDir is the directory for what commands remember of contexts. The default is that of kubectl.
	CacheDir string

	flags      *genericclioptions.ConfigFlags
	hubContext string
	namespace  string
	ascii      bool
	utc        bool
	// memory is what commands remember of contexts.
	memory *cluster.Memory
}

// New returns the command line.
func New(o Options) *cobra.Command {
	o.flags = connectionFlags()
	o.memory = cluster.NewMemory(cmp.Or(o.CacheDir, *genericclioptions.NewConfigFlags(true).CacheDir))
	root := &cobra.Command{
		Use:   "kubectl-vmgroup",
		Short: "Operate groups of VMs across clusters",
		Long: `kubectl vmgroup joins member clusters to a hub of the VmGroup operator, reports on them, and intervenes in VmGroups.

The hub is the cluster in which the operator runs. Its context is --hub-context, else $VMGROUP_HUB_CONTEXT, else the current context. If that is a member, commands
that change nothing use the hub that serves it, if a command has used the hub's context before: see kubectl vmgroup contexts. Commands for VmGroups use the current
context, or that of --context.

Exit codes: 0 if all is well, 1 if something is not well, 2 for wrong arguments, 3 if a cluster cannot be reached or lacks a permission.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl vmgroup"},
		SilenceUsage:  true,
		SilenceErrors: true, // main prints them, once
	}
	root.SetIn(o.In)
	root.SetOut(o.Out)
	root.SetErr(o.ErrOut)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return cluster.Usage("%v. See %s --help", err, c.CommandPath())
	})
	flags := root.PersistentFlags()
	o.flags.AddFlags(flags)
	flags.StringVar(&o.hubContext, "hub-context", "", "Context of the hub in the kubeconfig. The default is $"+hubContextVariable+", else the current context.")
	flags.StringVar(&o.namespace, "operator-namespace", "", "Namespace of the operator on the hub. The default is that of its ServiceAccount.")
	flags.BoolVar(&o.ascii, "ascii", false, "Print ASCII characters instead of symbols.")
	flags.BoolVar(&o.utc, "utc", false, "Print times in UTC instead of ages.")
	root.AddCommand(statusCommand(&o), getCommand(&o), describeCommand(&o), eventsCommand(&o), planCommand(&o), rolloutCommand(&o), templatesCommand(&o), quotaCommand(&o), pauseCommand(&o), resumeCommand(&o), confirmCommand(&o), keepCommand(&o), forgetCommand(&o), adoptCommand(&o), allowCommand(&o), acceptCommand(&o))
	root.AddCommand(memberCommand(&o), vcenterCommand(&o), shardsCommand(&o), healthCommand(&o), contextsCommand(&o), versionCommand(&o))
	for _, flag := range []string{"context", "hub-context"} {
		_ = root.RegisterFlagCompletionFunc(flag, o.completeContexts) // the flags exist
	}
	o.complete(root)
	return root
}

// connectionFlags returns the flags of kubectl that choose contexts and users. The others describe one connection, and the plugin has two.
func connectionFlags() *genericclioptions.ConfigFlags {
	all := genericclioptions.NewConfigFlags(true)
	return &genericclioptions.ConfigFlags{
		KubeConfig: all.KubeConfig, Context: all.Context, Impersonate: all.Impersonate, ImpersonateUID: all.ImpersonateUID, ImpersonateGroup: all.ImpersonateGroup,
		Timeout: all.Timeout,
	}
}

// connection returns the flags with which kubectl makes the connection of this command to a context.
func (o *Options) connection(context string) []string {
	flags := []string{"--context", context}
	for _, flag := range []struct{ name, value string }{{"--kubeconfig", *o.flags.KubeConfig}, {"--as", *o.flags.Impersonate}, {"--as-uid", *o.flags.ImpersonateUID}} {
		if flag.value != "" {
			flags = append(flags, flag.name, flag.value)
		}
	}
	for _, group := range *o.flags.ImpersonateGroup {
		flags = append(flags, "--as-group", group)
	}
	return flags
}

// ExitCode returns the exit code of a command that ended with this error.
func ExitCode(err error) int {
	var failure *cluster.Failure
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failure):
		return failure.Code
	}
	return cluster.ExitUsage // of cobra
}

// Print writes an error as one sentence.
func Print(w io.Writer, err error) {
	_, _ = fmt.Fprintln(w, "Error:", untrusted.Text(err.Error(), longestMessage))
}

// family returns a command that only has subcommands.
func family(use, short string) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
}

// readHub opens the hub of the user's kubeconfig, for a command that changes nothing.
func (o *Options) readHub(c *cobra.Command) (*cluster.Cluster, error) {
	contexts, err := cluster.Load(c.Context(), o.flags)
	if err != nil {
		return nil, err
	}
	contexts.Warn(o.ErrOut)
	return o.findHub(c, contexts)
}

// findHub opens the hub. If no flag and no variable names its context, and the current one is a member, it is the hub that serves the member, if a command has used it
// before.
func (o *Options) findHub(c *cobra.Command, contexts *cluster.Contexts) (*cluster.Cluster, error) {
	hub, err := o.hub(c, contexts)
	var failure *cluster.Failure
	if o.hubContext != "" || os.Getenv(hubContextVariable) != "" || !errors.As(err, &failure) || failure.Code != cluster.ExitUsage || contexts.Current() == "" {
		return hub, err
	}
	found := o.hubOf(c.Context(), contexts, contexts.Current(), asked)
	if found == nil {
		return nil, err
	}
	o.hubContext = found.Context
	_, _ = fmt.Fprintf(o.ErrOut, "Context %q is a member of the hub of context %q.\n", contexts.Current(), found.Context)
	return o.hub(c, contexts)
}

// openHub opens the hub of the user's kubeconfig.
func (o *Options) openHub(c *cobra.Command) (*cluster.Cluster, error) {
	contexts, err := cluster.Load(c.Context(), o.flags)
	if err != nil {
		return nil, err
	}
	contexts.Warn(o.ErrOut)
	return o.hub(c, contexts)
}

// hubName returns the name of the context that the user chooses for the hub.
func (o *Options) hubName(contexts *cluster.Contexts) (string, error) {
	name := cmp.Or(o.hubContext, os.Getenv(hubContextVariable), contexts.Current())
	if name == "" {
		return "", contexts.NoCurrent("--hub-context", "hub")
	}
	return name, nil
}

// hub opens the hub, and checks that it is one.
func (o *Options) hub(c *cobra.Command, contexts *cluster.Contexts) (*cluster.Cluster, error) {
	name, err := o.hubName(contexts)
	if err != nil {
		return nil, err
	}
	hub, err := contexts.Open(name)
	if err != nil {
		return nil, err
	}
	switch is, err := hub.IsHub(c.Context()); {
	case err != nil:
		return nil, err
	case !is:
		return nil, cluster.Usage("The cluster of context %q is not a hub: it does not serve MemberClusters. Set --hub-context to the context of the hub.", name)
	}
	_, _ = o.roleOf(c.Context(), contexts, name, asked) // commands remember it
	if o.namespace == "" {
		o.namespace = hub.OperatorNamespace(c.Context())
	}
	return hub, nil
}

// style of the standard output.
func (o *Options) style() term.Style {
	if file, ok := o.Out.(*os.File); ok {
		return term.StyleOf(file, o.ascii)
	}
	return term.Style{ASCII: o.ascii}
}

// times prints times as the user wants them.
func (o *Options) times() term.Times { return term.Times{Now: o.Now(), UTC: o.utc} }

// steps prints the steps of a command.
type steps struct {
	out   io.Writer
	style term.Style
}

func (s *steps) line(m term.Mark, text, detail string) {
	if detail != "" {
		text += "   (" + detail + ")"
	}
	_, _ = fmt.Fprintf(s.out, "  %s %s\n", s.style.Mark(m), untrusted.Text(text, longestMessage))
}

// Done implements enroll.Reporter.
func (s *steps) Done(step, detail string) { s.line(term.OK, step, detail) }

// Skipped implements enroll.Reporter.
func (s *steps) Skipped(step, why string) {
	s.line(term.Note, step, "")
	_, _ = fmt.Fprintf(s.out, "      %s\n", untrusted.Text(why, longestMessage))
}
