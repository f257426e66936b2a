package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/change"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/rollout"
	"github.com/codeconnect/vmgroup-operator/internal/term"
)

func rolloutCommand(o *Options) *cobra.Command {
	parent := family("rollout", "Follow, pause, resume or undo the update of a VmGroup's VMs")
	parent.AddCommand(rolloutStatusCommand(o))
	to := ""
	undo := editVerb{
		use: "undo NAME", short: "Return to the spec before the update",
		long: `Writes the size, template, placement and user data of an earlier revision into spec: of the one that all VMs had before the update, else of the one before
the last. The number of VMs does not change, and disks keep a larger size. VMs that were cloned from the new template are replaced, with their disks.`,
		edit: func(in *cluster.Cluster, g *v1alpha1.VmGroup) (string, error) {
			undone, err := rollout.Undo(g, to)
			if err != nil {
				return "", err
			}
			g.Spec = undone.Spec
			return "returns to its earlier spec. To follow: " + hint(in.Context, "rollout status", g), nil
		},
	}.command(o)
	undo.Flags().StringVar(&to, "to-revision", "", "Revision of status.revisions to return to.")
	parent.AddCommand(undo)
	for _, verb := range []editVerb{
		{
			use: "pause NAME", short: "Pause the update of a VmGroup: VMs keep their revision, and are repaired",
			edit: func(in *cluster.Cluster, g *v1alpha1.VmGroup) (string, error) {
				strategyOf(g).Paused = true
				return "does not update VMs. To continue: " + hint(in.Context, "rollout resume", g), nil
			},
		},
		{
			use: "resume NAME", short: "Continue a paused update",
			edit: func(_ *cluster.Cluster, g *v1alpha1.VmGroup) (string, error) {
				if g.Spec.UpdateStrategy != nil {
					g.Spec.UpdateStrategy.Paused = false
				}
				return "updates its VMs.", nil
			},
		},
		{
			use: "replace NAME", short: "Replace all VMs of a VmGroup, with their disks, as its update strategy allows",
			long: "Writes the time into spec.updateStrategy.replaceTrigger. Use it after a template was rebuilt under its name, or user data changed.",
			edit: func(in *cluster.Cluster, g *v1alpha1.VmGroup) (string, error) {
				strategyOf(g).ReplaceTrigger = o.Now().UTC().Format(time.RFC3339)
				return "replaces all its VMs. To follow: " + hint(in.Context, "rollout status", g), nil
			},
		},
	} {
		parent.AddCommand(verb.command(o))
	}
	return parent
}

func strategyOf(g *v1alpha1.VmGroup) *v1alpha1.UpdateStrategy {
	if g.Spec.UpdateStrategy == nil {
		g.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{}
	}
	return g.Spec.UpdateStrategy
}

// editVerb is a command that edits the spec of a VmGroup.
type editVerb struct {
	use, short, long string
	// edit changes the spec of the group, and returns what the group then does.
	edit func(in *cluster.Cluster, g *v1alpha1.VmGroup) (says string, err error)
}

func (v editVerb) command(o *Options) *cobra.Command {
	i, selection := &intervention{Options: o}, &groupSelection{}
	c := &cobra.Command{
		Use: v.use, Short: v.short, Long: v.long, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, names []string) error {
			in, g, err := i.theGroup(c.Context(), selection, names)
			if err != nil {
				return err
			}
			after := g.DeepCopy()
			says, err := v.edit(in, after)
			if err != nil {
				return cluster.Usage("VmGroup %q: %v.", g.Namespace+"/"+g.Name, err)
			}
			return i.carryOut(c.Context(), in, step{Change: change.Edit{Before: g, After: after, Resource: resourceGroup}, says: titleOf(g, resourceGroup) + " " + says})
		},
	}
	selection.one(c)
	i.add(c, false)
	return c
}

// interval is how often a command that waits reads the group.
const interval = time.Second

func rolloutStatusCommand(o *Options) *cobra.Command {
	i, selection := &intervention{Options: o, dry: dryNone}, &groupSelection{}
	watch, timeout := true, time.Duration(0)
	c := &cobra.Command{
		Use: "status NAME", Short: "Follow the update of a VmGroup until all VMs have the revision of spec and are ready", Args: cobra.ExactArgs(1),
		Long: "Exits with 1 if the update does not continue until a person acts, or does not end within --timeout.",
		RunE: func(c *cobra.Command, names []string) error {
			if timeout < 0 {
				return cluster.Usage("--timeout must not be negative.")
			}
			in, g, err := i.theGroup(c.Context(), selection, names)
			if err != nil {
				return err
			}
			return o.follow(c.Context(), in, g, watch, timeout)
		},
	}
	selection.one(c)
	c.Flags().BoolVarP(&watch, "watch", "w", true, "Wait for the end of the update.")
	c.Flags().DurationVar(&timeout, "timeout", 0, "How long to wait, such as 30m. 0 waits without a limit.")
	return c
}

// follow prints the progress of an update, a line for each change.
func (o *Options) follow(ctx context.Context, in *cluster.Cluster, g *v1alpha1.VmGroup, watch bool, timeout time.Duration) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	name, uid, shown := titleOf(g, resourceGroup), g.UID, ""
	out := &steps{o.Out, o.style()}
	err := wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (bool, error) {
		if shown != "" {
			next := &v1alpha1.VmGroup{} // a decoder keeps what the answer leaves out
			if err := in.Get(ctx, client.ObjectKeyFromObject(g), next); err != nil {
				return false, cluster.Explain(in.Context, in.Config.Host, err)
			}
			g = next
		}
		is := rollout.Of(g)
		mark := term.Note
		switch {
		case g.UID != uid:
			return false, cluster.NotWell("%s was deleted, and another one has its name.", name)
		case is.Complete:
			mark = term.OK
		case is.Waits:
			mark = term.Warn
		}
		if is.Text != shown {
			shown = is.Text
			out.line(mark, name+": "+shown, "")
		}
		if is.Waits {
			return false, cluster.NotWell("The update of %s does not continue until a person acts.", name)
		}
		return is.Complete || !watch, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		return cluster.NotWell("The update of %s did not end within %s.", name, timeout)
	}
	if err == nil && !watch && !rollout.Of(g).Complete {
		return cluster.NotWell("The update of %s has not ended.", name)
	}
	return err
}

// theGroup reads the one VmGroup of a command.
func (i *intervention) theGroup(ctx context.Context, selection *groupSelection, names []string) (*cluster.Cluster, *v1alpha1.VmGroup, error) {
	in, contexts, err := i.here(ctx)
	if err != nil {
		return nil, nil, err
	}
	groups, err := selection.read(ctx, in, contexts, names)
	if err != nil {
		return nil, nil, err
	}
	return in, &groups[0], nil
}

// one adds the flag of a command for one VmGroup.
func (s *groupSelection) one(c *cobra.Command) {
	c.Flags().StringVarP(&s.namespace, "namespace", "n", "", "Namespace of the VmGroup. The default is that of the context.")
}
