package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/tree"
	"github.com/spf13/cobra"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/overview"
	"github.com/codeconnect/vmgroup-operator/internal/shards"
	"github.com/codeconnect/vmgroup-operator/internal/term"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

func statusCommand(o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show what is not well in the fleet, the worst first", Args: cobra.NoArgs,
		Long: `Reads the MemberClusters, the VCenters and the shard map of the hub. VCenters and members that are well are counted in one line. VmGroups that are paused
or held do not count as not ready. Exits with 1 if a VCenter, a member, a VmGroup or the operator is not well.`,
		RunE: func(c *cobra.Command, _ []string) error { return o.status(c) },
	}
}

func (o *Options) status(c *cobra.Command) error {
	hub, err := o.readHub(c)
	if err != nil {
		return err
	}
	members, vcenters := &v1alpha1.MemberClusterList{}, &v1alpha1.VCenterList{}
	if err := hub.List(c.Context(), members); err != nil {
		return cluster.Explain(hub.Context, hub.Config.Host, err)
	}
	if err := hub.List(c.Context(), vcenters); err != nil {
		return cluster.Explain(hub.Context, hub.Config.Host, err)
	}
	of := overview.Of(members.Items, vcenters.Items, o.times())
	mark, replicas := o.replicas(c.Context(), hub)
	header := []string{o.style().Mark(mark) + " Hub " + hub.Context + "   " + replicas}
	if name, at := firstToExpire(members.Items); name != "" && at.After(o.Now()) {
		header = append(header, fmt.Sprintf("  First credential to expire: that of member %s, %s", name, o.times().In(at)))
	}
	if err := printOverview(o.Out, o.style(), o.width(), strings.Join(header, "\n"), of); err != nil {
		return err
	}
	if of.Next != "" {
		_, _ = fmt.Fprintln(o.ErrOut, "Next: "+of.Next)
	}
	if !of.Well() || mark == term.Bad {
		return cluster.NotWell("The fleet is not well.")
	}
	return nil
}

// replicas describes the replicas of the operator. A user who cannot read their Leases gets the rest of the status.
func (o *Options) replicas(ctx context.Context, hub *cluster.Cluster) (mark term.Mark, text string) {
	snapshot, err := shards.Read(ctx, hub.Config, o.namespace)
	if err != nil {
		return term.Unknown, "replicas not known: " + untrusted.Text(cluster.Explain(hub.Context, hub.Config.Host, err).Error(), longestMessage)
	}
	r := overview.ReplicasOf(snapshot, o.Now())
	text = fmt.Sprintf("%s, %d of %d buckets held", term.Count(r.Number, "replica"), r.Buckets, r.Of)
	if !r.Well() {
		return term.Bad, text + ". See kubectl vmgroup shards"
	}
	return term.OK, text + ", leader " + untrusted.Text(r.Leader, 63)
}

// firstToExpire returns the member whose credential expires first.
func firstToExpire(members []v1alpha1.MemberCluster) (name string, at time.Time) {
	for i := range members {
		if t := firstExpiry(&members[i]); !t.IsZero() && (name == "" || t.Before(at)) {
			name, at = members[i].Name, t
		}
	}
	return name, at
}

// width of the terminal, in columns; 0 without a terminal.
func (o *Options) width() int {
	if file, ok := o.Out.(*os.File); ok {
		if size, terminal := term.SizeOf(file); terminal {
			return size.Width
		}
	}
	return 0
}

// indent is the width of the lines of a tree at the depth of an item's details.
const indent = 8

// printOverview prints a tree of at most width columns. A width of 0 has no limit.
func printOverview(out io.Writer, style term.Style, width int, header string, of overview.Overview) error {
	root := tree.Root(header)
	fit := func(text string) string {
		if width <= indent {
			return text
		}
		return strings.TrimRight(lipgloss.NewStyle().Width(width-indent).Render(text), " ")
	}
	for _, item := range of.Items {
		line := style.Mark(item.Mark) + " " + item.Title
		if item.Summary != "" {
			line += "   " + item.Summary
		}
		node := tree.Root(fit(line))
		for _, detail := range item.Lines {
			node.Child(fit(detail))
		}
		root.Child(node)
	}
	if style.ASCII {
		root.Enumerator(func(tree.Children, int) string { return "|--" }).Indenter(func(tree.Children, int) string { return "|  " })
	}
	var text strings.Builder
	for line := range strings.Lines(root.String() + "\n") {
		text.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	_, _ = fmt.Fprintf(&text, "\n%d of %d groups are not ready.\n", of.NotReady, of.Groups)
	_, err := io.WriteString(out, text.String())
	return err
}
