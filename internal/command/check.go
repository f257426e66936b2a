package command

import (
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/codeconnect/vmgroup-operator/internal/check/health"
)

func checkCommand(version string) *cobra.Command {
	o := health.Options{}
	c := &cobra.Command{
		Use: "check", Short: "Check whether the operator on this hub is healthy", Args: cobra.NoArgs,
		Long: `manager check reports whether the operator on this hub is healthy, and if not, what to do. It changes nothing.

It fails when the kinds are not served, when there are fewer working replicas than there should be, when groups have no replica, and
when the webhooks do not answer. A VCenter, MemberCluster or VmGroupPolicy that is not Ready is a warning.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			kubeconfig, err := config.GetConfig()
			if err != nil {
				return fmt.Errorf("find the hub's API server: %w", err)
			}
			return health.Check(c.Context(), kubeconfig, o, c.OutOrStdout())
		},
	}
	flags := c.Flags()
	NamespaceFlag(flags, &o.Namespace)
	flags.IntVar(&o.Replicas, "replicas", 0, "How many replicas must work; 0 means as many as the Deployment wants.")
	flags.StringVar(&o.Deployment, "deployment", "vmgroup-operator", "Name of the operator's Deployment.")
	flags.BoolVar(&o.Strict, "strict", false, "Let warnings fail the check.")
	flags.DurationVar(&o.Wait, "wait", 0, "For how long to look again while something fails.")
	flags.StringVar(&o.Webhook.URL, "webhook-url", "", "URL of the webhooks, for example https://vmgroup-operator-webhook.vmgroup-operator-system.svc. Empty leaves them out.")
	flags.StringVar(&o.Webhook.CA, "webhook-ca", "", "File with the authorities that may have signed the webhooks' certificate; empty means those of the system.")
	flags.StringVar(&o.Webhook.ServerName, "webhook-server-name", "", "Name that the webhooks' certificate must be for, where it is not the host of the URL.")
	c.AddCommand(checkVCenterCommand(version))
	return c
}
