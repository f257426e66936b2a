package cli

import (
	"github.com/spf13/cobra"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
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
	ctx := c.Context()
	if err := checkName(name); err != nil {
		return err
	}
	contexts, err := cluster.Load(o.flags)
	if err != nil {
		return err
	}
	hub, err := o.hub(c, contexts)
	if err != nil {
		return err
	}
	hubFacts, err := hub.Ask(ctx, o.Now)
	if err != nil {
		return err
	}
	p, facts, err := f.preparation(ctx, o, contexts)
	if err != nil {
		return err
	}
	if err := enroll.Preflight(ctx, p.Member, hubFacts, facts); err != nil {
		return err
	}
	r := &enroll.Registration{Hub: hub, Namespace: o.namespace, Name: name, ClusterUID: facts.UID, Lifetime: f.lifetime}
	if _, err := r.Current(ctx); err != nil {
		return err
	}
	return enroll.Renew(ctx, p, r, &steps{o.Out, o.style()})
}
