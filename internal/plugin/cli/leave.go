package cli

import (
	"bufio"
	"cmp"
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
command then also removes the operator's identities, its roles (also those for teams), and the namespace vmgroup-operator from the member.`,
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
	if err := checkName(name); err != nil {
		return err
	}
	contexts, err := cluster.Load(c.Context(), l.flags)
	if err != nil {
		return err
	}
	hub, err := l.hub(c, contexts)
	if err != nil {
		return err
	}
	r := &enroll.Registration{Hub: hub, Namespace: l.namespace, Name: name}
	mc, err := r.Find(ctx)
	if err != nil {
		return err
	}
	if mc == nil && l.memberContext == "" {
		if has, err := r.HasSecret(ctx); err != nil || !has {
			return cmp.Or(err, error(cluster.Usage("The hub has no MemberCluster %q. kubectl vmgroup member list shows them.", name)))
		}
	}
	member, err := l.member(ctx, contexts, hub, name, mc)
	if err != nil {
		return err
	}
	if err := l.confirm(ctx, name, hub, mc); err != nil {
		return err
	}
	report := &steps{l.Out, l.style()}
	if mc == nil {
		report.Skipped("the hub has no MemberCluster "+name, "The command removes what an interrupted one has left.")
	}
	if err := r.Leave(ctx, l.wait, report); err != nil {
		return err
	}
	if member == nil {
		report.Skipped("the operator's identities in the member stay", "With --member-context, this command removes them; or see docs/how-to/uninstall.md.")
		return nil
	}
	return enroll.Clear(ctx, member, report)
}

// member opens the member of --member-context, and checks that it is the MemberCluster's, and not the member of another hub.
func (l *leaveOptions) member(ctx context.Context, contexts *cluster.Contexts, hub *cluster.Cluster, name string, mc *v1alpha1.MemberCluster) (*cluster.Cluster, error) {
	if l.memberContext == "" {
		return nil, nil
	}
	hubFacts, err := hub.Ask(ctx, l.Now)
	if err != nil {
		return nil, err
	}
	member, err := contexts.Open(l.memberContext)
	if err != nil {
		return nil, err
	}
	facts, err := member.Ask(ctx, l.Now)
	if err != nil {
		return nil, err
	}
	switch {
	case facts.UID == hubFacts.UID:
		return nil, cluster.Usage("Context %q is the hub itself.", l.memberContext)
	case mc != nil && enroll.UIDOf(mc) == "":
		return nil, cluster.Usage("MemberCluster %q does not know its cluster yet, so the command cannot check that context %q is that cluster. Leave out --member-context.", name, l.memberContext)
	case mc != nil && enroll.UIDOf(mc) != facts.UID:
		return nil, cluster.Usage("Context %q is not the cluster of MemberCluster %q: its UID is %s, and that of the MemberCluster %s.", l.memberContext, name, facts.UID, enroll.UIDOf(mc))
	}
	return member, enroll.Unclaimed(ctx, member, hubFacts.UID)
}

// confirm asks the user, and does not without a terminal.
func (l *leaveOptions) confirm(ctx context.Context, name string, hub *cluster.Cluster, mc *v1alpha1.MemberCluster) error {
	if l.yes {
		return nil
	}
	if mc != nil {
		_, _ = fmt.Fprintf(l.ErrOut, "%s MemberCluster %q of hub %s (%s) has %d VmGroups with %d VMs. They stay in the member and in vCenter, and no operator serves them any more.\n",
			l.style().Mark(term.Warn), name, hub.Context, hub.Config.Host, mc.Status.Groups, mc.Status.VMs)
	}
	_, _ = fmt.Fprintf(l.ErrOut, "Type the name of the member to continue: ")
	answered := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(l.In).ReadString('\n') // the end of the input is no answer
		answered <- strings.TrimSpace(answer)
	}()
	select {
	case <-ctx.Done():
		return cluster.Usage("Interrupted. Nothing was changed.")
	case answer := <-answered:
		if answer == name {
			return nil
		}
	}
	return cluster.Usage("Nothing was changed. Without a terminal, add --yes.")
}
