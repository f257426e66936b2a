package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/codeconnect/vmgroup-operator/internal/check/health"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

func healthCommand(o *Options) *cobra.Command {
	settings := health.Options{}
	c := &cobra.Command{
		Use: "check", Short: "Check whether the operator on the hub is healthy", Args: cobra.NoArgs,
		Long: `Reports whether the operator on the hub is healthy, and if not, what to do. It changes nothing. It fails if kinds are not served, if there are fewer working
replicas than the Deployment wants, and if groups have no replica. A VCenter, MemberCluster or VmGroupPolicy that is not Ready is a warning. manager check is the same
command, for a Pod.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := settings.Validate(); err != nil {
				return cluster.Usage("%v", err)
			}
			hub, err := o.readHub(c)
			if err != nil {
				return err
			}
			settings.Namespace = o.namespace
			err = health.Check(c.Context(), hub.Config, settings, o.Out)
			if errors.Is(err, health.ErrUnhealthy) {
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
	return c
}
