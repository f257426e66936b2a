package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/enroll"
	"github.com/codeconnect/vmgroup-operator/internal/term"
)

type leaveOptions struct {
	*Options
	memberContext string
	yes           bool
	wait          time.Duration
}

func leaveCommand(o *Options) *cobra.Command {
	l := leaveOptions{Options: o}
	c := &cobra.Command{
		Use: "leave NAME", Short: "Make the hub stop serving a cluster", Args: cobra.ExactArgs(1),
		Long: `Deletes the MemberCluster and the Secret with its tokens. VmGroups and VMs of the member stay, and no operator serves them. With --member-context, the
command then also removes the operator's identities from the member.`,
		RunE: func(c *cobra.Command, args []string) error { return l.run(c, args[0]) },
	}
	flags := c.Flags()
	flags.StringVar(&l.memberContext, "member-context", "", "Context of the member in the kubeconfig. With it, the command removes the operator's identities from the member.")
	flags.BoolVar(&l.yes, "yes", false, "Do not ask.")
	flags.DurationVar(&l.wait, "wait", 2*time.Minute, "How long to wait until the operator has left the member.")
	return c
}

func (l *leaveOptions) run(c *cobra.Command, name string) error {
	ctx := c.Context()
	contexts, err := cluster.Load(l.flags)
	if err != nil {
		return err
	}
	hub, err := l.hub(c, contexts)
	if err != nil {
		return err
	}
	mc, err := findMember(ctx, hub, name)
	if err != nil {
		return err
	}
	member, err := l.member(ctx, contexts, mc)
	if err != nil {
		return err
	}
	if err := l.confirm(mc); err != nil {
		return err
	}
	report := &steps{l.Out, l.style()}
	r := &enroll.Registration{Hub: hub, Namespace: l.namespace, Name: name}
	waiting, cancel := context.WithTimeout(ctx, l.wait)
	defer cancel()
	if err := r.Leave(waiting, mc, report); err != nil {
		return err
	}
	if member == nil {
		report.Skipped("the operator's identities in the member stay", "They have no valid purpose any more. With --member-context, this command removes them; or see docs/how-to/uninstall.md.")
		return nil
	}
	return enroll.Clear(ctx, member, report)
}

// member opens the member of --member-context, and checks that it is the MemberCluster's.
func (l *leaveOptions) member(ctx context.Context, contexts *cluster.Contexts, mc *v1alpha1.MemberCluster) (*cluster.Cluster, error) {
	if l.memberContext == "" {
		return nil, nil
	}
	member, err := contexts.Open(l.memberContext)
	if err != nil {
		return nil, err
	}
	facts, err := member.Ask(ctx, l.Now)
	if err != nil {
		return nil, err
	}
	if uid := enroll.UIDOf(mc); uid != facts.UID {
		return nil, cluster.Usage("Context %q is not the cluster of MemberCluster %q: its UID is %s, and that of the MemberCluster %q.", l.memberContext, mc.Name, facts.UID, uid)
	}
	return member, nil
}

// confirm asks the user, and does not without a terminal.
func (l *leaveOptions) confirm(mc *v1alpha1.MemberCluster) error {
	if l.yes {
		return nil
	}
	_, _ = fmt.Fprintf(l.ErrOut, "%s MemberCluster %q has %d VmGroups with %d VMs. They stay in the member and in vCenter, and no operator serves them any more.\n",
		l.style().Mark(term.Warn), mc.Name, mc.Status.Groups, mc.Status.VMs)
	_, _ = fmt.Fprintf(l.ErrOut, "Type its name to continue: ")
	answer, err := bufio.NewReader(l.In).ReadString('\n')
	if strings.TrimSpace(answer) != mc.Name {
		if err != nil {
			return cluster.Usage("Nothing was changed. Without a terminal, add --yes.")
		}
		return cluster.Usage("Nothing was changed.")
	}
	return nil
}
