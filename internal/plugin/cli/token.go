package cli

import (
	"github.com/spf13/cobra"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/enroll"
)

func tokenCommand(o *Options) *cobra.Command {
	f := memberFlags{}
	c := &cobra.Command{
		Use: "token NAME", Short: "Request tokens for the operator in a member, and store them on the hub", Args: cobra.ExactArgs(1),
		Long: `For members whose objects another tool applies, such as Argo CD or Flux: it applies config/member and config/member-renewal in the member, and
a MemberCluster on the hub that refers to Secret NAME-join, with the keys member and bootstrap. This command writes that Secret, and nothing else.`,
		RunE: func(c *cobra.Command, args []string) error { return token(c, o, &f, args[0]) },
	}
	f.add(c, mostLifetime)
	_ = c.MarkFlagRequired("member-context")
	return c
}

func token(c *cobra.Command, o *Options, f *memberFlags, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	both, err := f.pair(c, o, name, enroll.Registration{})
	if err != nil {
		return err
	}
	return enroll.Renew(c.Context(), both.Preparation, both.Registration, &steps{o.Out, o.style()})
}
