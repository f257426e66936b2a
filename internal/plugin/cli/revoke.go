package cli

import (
	"errors"
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
	ctx, report := c.Context(), &steps{o.Out, o.style()}
	if only == (len(args) == 1) {
		return cluster.Usage("Give the NAME of the MemberCluster whose tokens to replace, or --only.")
	}
	if only {
		contexts, err := cluster.Load(c.Context(), o.flags)
		if err != nil {
			return err
		}
		member, _, err := f.open(ctx, o, contexts)
		if err != nil {
			return err
		}
		return revoked(c, member, report)
	}
	if err := checkName(args[0]); err != nil {
		return err
	}
	both, err := f.pair(c, o, args[0], enroll.Registration{})
	if err != nil {
		return err
	}
	if !both.Exists() {
		return cluster.Usage("The hub has no MemberCluster %q. kubectl vmgroup member list shows them.", args[0])
	}
	if err := errors.Join(both.Preparation.Rehearse(ctx), both.Registration.Rehearse(ctx)); err != nil {
		return err
	}
	if err := revoked(c, both.Member, report); err != nil {
		return err
	}
	if err := enroll.Replace(ctx, both.Preparation, both.Registration, report); err != nil {
		return fmt.Errorf("the tokens are revoked, and the operator has no new ones. Run kubectl vmgroup member join %s --member-context %s: %w", args[0], f.context, err)
	}
	return nil
}

func revoked(c *cobra.Command, member *cluster.Cluster, report enroll.Reporter) error {
	was, err := enroll.Revoke(c.Context(), member)
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
