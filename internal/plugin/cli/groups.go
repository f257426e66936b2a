package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/change"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

// groupSelection chooses VmGroups of a namespace.
type groupSelection struct {
	namespace, selector string
	all, deleting       bool
}

func (s *groupSelection) add(c *cobra.Command) {
	c.Flags().StringVarP(&s.namespace, "namespace", "n", "", "Namespace of the VmGroups. The default is that of the context.")
	c.Flags().StringVarP(&s.selector, "selector", "l", "", "Label selector that chooses VmGroups, instead of names.")
	c.Flags().BoolVar(&s.all, "all", false, "Choose all VmGroups of the namespace, instead of names.")
	c.Flags().BoolVar(&s.deleting, "deleting", false, "Choose the VmGroups of the namespace that are being deleted, instead of names.")
}

// read reads the groups. No group is an error: a person who chose some by mistake must learn that.
func (s *groupSelection) read(ctx context.Context, in *cluster.Cluster, contexts *cluster.Contexts, names []string) ([]v1alpha1.VmGroup, error) {
	chosen := 0
	for _, is := range []bool{len(names) > 0, s.selector != "", s.all, s.deleting} {
		if is {
			chosen++
		}
	}
	if chosen != 1 {
		return nil, cluster.Usage("Choose VmGroups by their names, by --selector, by --all, or by --deleting.")
	}
	namespace := s.namespace
	if namespace == "" {
		namespace = contexts.Namespace(in.Context)
	}
	if len(names) == 0 {
		selector, err := labels.Parse(s.selector)
		if err != nil {
			return nil, cluster.Usage("--selector cannot be read: %v.", err)
		}
		list := &v1alpha1.VmGroupList{}
		if err := in.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
			return nil, cluster.Explain(in.Context, in.Config.Host, err)
		}
		if s.deleting {
			list.Items = slices.DeleteFunc(list.Items, func(g v1alpha1.VmGroup) bool { return g.DeletionTimestamp == nil })
		}
		if len(list.Items) == 0 {
			return nil, cluster.Usage("Namespace %q of context %q has no such VmGroup.", namespace, in.Context)
		}
		return list.Items, nil
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	groups := make([]v1alpha1.VmGroup, len(names))
	for i, name := range names {
		err := in.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &groups[i])
		if apierrors.IsNotFound(err) {
			return nil, cluster.Usage("Namespace %q of context %q has no VmGroup %q. Nothing was changed.", namespace, in.Context, name)
		}
		if err != nil {
			return nil, cluster.Explain(in.Context, in.Config.Host, err)
		}
	}
	return groups, nil
}

// groupVerb is a command that sets an annotation of VmGroups.
type groupVerb struct {
	use, short, long, example string
	// undoable adds --undo.
	undoable bool
	// step returns the change of a group.
	step func(in *cluster.Cluster, g *v1alpha1.VmGroup) step
}

func (v groupVerb) command(o *Options) *cobra.Command {
	i, selection := &intervention{Options: o}, &groupSelection{}
	c := &cobra.Command{
		Use: v.use, Short: v.short, Long: v.long, Example: v.example,
		RunE: func(c *cobra.Command, names []string) error {
			in, contexts, err := i.here(c.Context())
			if err != nil {
				return err
			}
			groups, err := selection.read(c.Context(), in, contexts, names)
			if err != nil {
				return err
			}
			var all []step
			for n := range groups {
				all = append(all, v.step(in, &groups[n]))
			}
			return i.carryOut(c.Context(), in, all...)
		},
	}
	selection.add(c)
	i.add(c, v.undoable)
	return c
}

func ofGroup(g *v1alpha1.VmGroup, key, value, format string, args ...any) step {
	return step{
		Change: change.Annotation{Object: g, Resource: resourceGroup, Key: key, Value: value}, says: titleOf(g, resourceGroup) + " " + fmt.Sprintf(format, args...),
	}
}

// hint returns a command for a group that the person can run next.
func hint(context, verb string, g *v1alpha1.VmGroup) string {
	return fmt.Sprintf("kubectl vmgroup %s %s -n %s --context %s", verb, g.Name, g.Namespace, change.Quote(context))
}

// onceDeleted adds a note to a step that has an effect only on a group that is being deleted.
func onceDeleted(g *v1alpha1.VmGroup, s step) step {
	if g.DeletionTimestamp == nil {
		s.note = "The group is not being deleted. The annotation has an effect once it is."
	}
	return s
}

func pauseCommand(o *Options) *cobra.Command {
	return groupVerb{
		use: "pause [NAME...]", short: "Pause VmGroups: the operator changes nothing of them",
		long: "Sets annotation paused. Unlike spec.paused, a GitOps tool does not undo it. A deleted VmGroup that is paused stays, with its VMs.",
		step: func(in *cluster.Cluster, g *v1alpha1.VmGroup) step {
			return ofGroup(g, v1alpha1.PausedAnnotation, "true", "is paused. To continue: %s", hint(in.Context, "resume", g))
		},
	}.command(o)
}

func resumeCommand(o *Options) *cobra.Command {
	return groupVerb{
		use: "resume [NAME...]", short: "Let the operator continue with paused VmGroups",
		long: "Removes annotation paused. It does not change spec.paused.",
		step: func(_ *cluster.Cluster, g *v1alpha1.VmGroup) step {
			s := ofGroup(g, v1alpha1.PausedAnnotation, "", "does not have annotation paused any more.")
			if g.Spec.Paused {
				s.note = "spec.paused is true, so the group stays paused."
			}
			return s
		},
	}.command(o)
}

func keepCommand(o *Options) *cobra.Command {
	return groupVerb{
		use: "keep [NAME...]", short: "Let VmGroups that are deleted keep their VMs", undoable: true,
		long: `Sets annotation release with the UID of the VmGroup. The group is then deleted without its VMs, and another group can adopt them. The annotation can be
set before and after the deletion.`,
		step: func(in *cluster.Cluster, g *v1alpha1.VmGroup) step {
			return onceDeleted(g, ofGroup(g, v1alpha1.ReleaseAnnotation, string(g.UID), "keeps its VMs. To adopt them: kubectl vmgroup adopt NAME --from %s -n %s --context %s", g.UID, g.Namespace, change.Quote(in.Context)))
		},
	}.command(o)
}

func forgetCommand(o *Options) *cobra.Command {
	return groupVerb{
		use: "forget [NAME...]", short: "Delete VmGroups without their VMs, whose vCenter is permanently lost", undoable: true,
		long: "Sets annotation forget with the UID of the VmGroup. A hub administrator must allow it: kubectl vmgroup allow forget.",
		step: func(_ *cluster.Cluster, g *v1alpha1.VmGroup) step {
			return onceDeleted(g, ofGroup(g, v1alpha1.ForgetAnnotation, string(g.UID), "is deleted without its VMs, once a hub administrator allows that: kubectl vmgroup allow forget"))
		},
	}.command(o)
}

func adoptCommand(o *Options) *cobra.Command {
	i, selection := &intervention{Options: o}, &groupSelection{}
	from, legacy, abandon := "", false, false
	c := &cobra.Command{
		Use: "adopt NAME", Short: "Let a VmGroup adopt the VMs of another one", Args: cobra.ExactArgs(1),
		Long: `Sets annotation adopt. The VmGroup adopts the VMs of a deleted VmGroup of the same namespace, or of the original operator, before it clones any.`,
		Example: `# The VMs that a deleted VmGroup has kept
kubectl vmgroup adopt web -n shop --from 5e2f0c6d-1f0a-4c57-9d1e-0a6f3b7c2d11`,
		RunE: func(c *cobra.Command, names []string) error {
			if c.Flags().Changed("from") && !cluster.IsUID(from) {
				return cluster.Usage("--from %q is no UID.", from)
			}
			in, contexts, err := i.here(c.Context())
			if err != nil {
				return err
			}
			groups, err := selection.read(c.Context(), in, contexts, names)
			if err != nil {
				return err
			}
			g := &groups[0]
			s := ofGroup(g, v1alpha1.AdoptAnnotation, from, "adopts the VMs of the deleted VmGroup %s before it clones any.", from)
			switch {
			case legacy:
				s = ofGroup(g, v1alpha1.AdoptAnnotation, v1alpha1.AdoptLegacy, "adopts its VMs of the original operator.")
			case abandon:
				s = ofGroup(g, v1alpha1.AdoptAnnotation, v1alpha1.AdoptAbandon, "leaves its VMs of the original operator in vCenter, unmanaged.")
			}
			return i.carryOut(c.Context(), in, s)
		},
	}
	flags := c.Flags()
	flags.StringVarP(&selection.namespace, "namespace", "n", "", "Namespace of the VmGroup. The default is that of the context.")
	flags.StringVar(&from, "from", "", "UID of the deleted VmGroup, as its receipt and the message of keep have it.")
	flags.BoolVar(&legacy, "legacy", false, "Adopt the VMs of the original operator.")
	flags.BoolVar(&abandon, "abandon", false, "Leave the VMs of the original operator in vCenter, unmanaged.")
	i.add(c, true)
	c.MarkFlagsMutuallyExclusive("from", "legacy", "abandon", "undo")
	c.MarkFlagsOneRequired("from", "legacy", "abandon", "undo")
	return c
}
