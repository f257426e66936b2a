package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/enroll"
)

func revokeCommand(o *Options) *cobra.Command {
	f, only := memberFlags{}, false
	c := &cobra.Command{
		Use: "revoke [NAME]", Short: "Revoke all tokens of the operator in a member, and give it new ones", Args: cobra.MaximumNArgs(1),
		Long: `Deletes the Secret in the member to which all tokens of the operator are bound. The member rejects these tokens after about 10 seconds. Watches
that are open continue until the API server ends them. Then the command requests new tokens, and stores them on the hub.

With --only, the operator gets no new tokens: VmGroups and VMs of the member stay as they are, until kubectl vmgroup member join NAME.`,
		RunE: func(c *cobra.Command, args []string) error { return revoke(c, o, &f, args, only) },
	}
	f.add(c, mostLifetime)
	c.Flags().BoolVar(&only, "only", false, "Give the operator no new tokens. Needs no access to the hub, and no NAME.")
	_ = c.MarkFlagRequired("member-context")
	return c
}

func revoke(c *cobra.Command, o *Options, f *memberFlags, args []string, only bool) error {
	ctx := c.Context()
	if only == (len(args) == 1) {
		return cluster.Usage("Give the NAME of the MemberCluster whose tokens to replace, or --only.")
	}
	contexts, err := cluster.Load(o.flags)
	if err != nil {
		return err
	}
	p, facts, err := f.preparation(ctx, o, contexts)
	if err != nil {
		return err
	}
	report := &steps{o.Out, o.style()}
	if only {
		return revoked(c, p, report)
	}
	hub, err := o.hub(c, contexts)
	if err != nil {
		return err
	}
	mc, err := findMember(ctx, hub, args[0])
	if err != nil {
		return err
	}
	if enroll.UIDOf(mc) != facts.UID {
		return cluster.Usage("Context %q is not the cluster of MemberCluster %q: its UID is %s, and that of the MemberCluster %q.", f.context, mc.Name, facts.UID, enroll.UIDOf(mc))
	}
	r := &enroll.Registration{Hub: hub, Namespace: o.namespace, Name: mc.Name, ClusterUID: facts.UID, Lifetime: f.lifetime}
	if err := r.Rehearse(ctx); err != nil {
		return err
	}
	if err := p.Rehearse(ctx); err != nil {
		return err
	}
	if err := revoked(c, p, report); err != nil {
		return err
	}
	if err := enroll.Replace(ctx, p, r, report); err != nil {
		return fmt.Errorf("the tokens are revoked, and the operator has no new ones. Run kubectl vmgroup member join %s --member-context %s: %w", mc.Name, f.context, err)
	}
	return nil
}

func revoked(c *cobra.Command, p *enroll.Preparation, report enroll.Reporter) error {
	was, err := enroll.Revoke(c.Context(), p.Member)
	if err != nil {
		return err
	}
	if was {
		report.Done("the tokens of the operator are revoked", "")
	} else {
		report.Skipped("no tokens to revoke", "The member has no Secret to which tokens are bound.")
	}
	return nil
}
