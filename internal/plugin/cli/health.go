package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/codeconnect/vmgroup-operator/internal/check/health"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/prerequisites"
	"github.com/codeconnect/vmgroup-operator/internal/term"
)

func healthCommand(o *Options) *cobra.Command {
	settings, pre := health.Options{}, false
	c := &cobra.Command{
		Use: "check", Short: "Check whether the operator on the hub is healthy", Args: cobra.NoArgs,
		Long: `Reports whether the operator on the hub is healthy, and if not, what to do. It changes nothing. It fails if kinds are not served, if there are fewer working
replicas than the Deployment wants, and if groups have no replica. A VCenter, MemberCluster or VmGroupPolicy that is not Ready is a warning. manager check is the same
command, for a Pod.

With --pre, it checks instead whether the operator can be installed: the version of Kubernetes, other products, and the permissions of the user.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if pre {
				return o.checkPrerequisites(c)
			}
			if err := settings.Validate(); err != nil {
				return cluster.Usage("%v", err)
			}
			hub, err := o.readHub(c)
			if err != nil {
				return err
			}
			settings.Namespace = o.namespace
			err = health.Check(c.Context(), hub.Config, settings, o.Out)
			switch {
			case errors.Is(err, health.ErrNotAllowed):
				return &cluster.Failure{Code: cluster.ExitUnreachable, Sentence: "Not all can be checked: a permission is missing."}
			case errors.Is(err, health.ErrUnhealthy):
				return cluster.NotWell("The operator is not healthy.")
			}
			return cluster.Explain(hub.Context, hub.Config.Host, err)
		},
	}
	flags := c.Flags()
	flags.IntVar(&settings.Replicas, "replicas", 0, "How many replicas must work. 0 means as many as the Deployment wants.")
	flags.StringVar(&settings.Deployment, "deployment", "vmgroup-operator", "Name of the operator's Deployment.")
	flags.BoolVar(&settings.Strict, "strict", false, "Let warnings fail the check.")
	flags.DurationVar(&settings.Wait, "wait", 0, "For how long the check is repeated while it fails.")
	flags.BoolVar(&pre, "pre", false, "Check whether the operator can be installed.")
	for _, other := range []string{"replicas", "deployment", "strict", "wait"} {
		c.MarkFlagsMutuallyExclusive("pre", other)
	}
	return c
}

// checkPrerequisites checks the cluster of a future hub, which does not serve the operator's kinds yet.
func (o *Options) checkPrerequisites(c *cobra.Command) error {
	contexts, err := cluster.Load(c.Context(), o.flags)
	if err != nil {
		return err
	}
	name, err := o.hubName(contexts)
	if err != nil {
		return err
	}
	hub, err := contexts.Open(name)
	if err != nil {
		return err
	}
	namespace := o.namespace
	if namespace == "" {
		namespace = hub.OperatorNamespace(c.Context())
	}
	found, err := prerequisites.Check(c.Context(), hub, namespace)
	if err != nil {
		return err
	}
	report, bad := steps{o.Out, o.style()}, false
	for _, f := range found {
		report.line(f.Mark, f.Text, f.Detail)
		bad = bad || f.Mark == term.Bad
	}
	if bad {
		return cluster.NotWell("The operator cannot be installed on the cluster of context %q.", name)
	}
	return nil
}
