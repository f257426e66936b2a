package cli

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/term"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// getOptions choose VmGroups of one cluster.
type getOptions struct {
	*Options
	namespace, selector     string
	allNamespaces, notReady bool
}

func getCommand(o *Options) *cobra.Command {
	g := &getOptions{Options: o}
	c := &cobra.Command{
		Use: "get [NAME...]", Short: "List the VmGroups of a namespace, those that are not ready first",
		Long: "SINCE is for how long condition Ready has had its value, and REASON why it is not True.",
		Example: `# All VmGroups of the cluster that are not ready, with the reason
kubectl vmgroup get -A --not-ready`,
	}
	l := newListing(c)
	c.RunE = func(c *cobra.Command, names []string) error { return g.run(c, l, names) }
	flags := c.Flags()
	flags.StringVarP(&g.namespace, "namespace", "n", "", "Namespace of the VmGroups. The default is that of the context.")
	flags.BoolVarP(&g.allNamespaces, "all-namespaces", "A", false, "List the VmGroups of all namespaces.")
	flags.StringVarP(&g.selector, "selector", "l", "", "Label selector.")
	flags.BoolVar(&g.notReady, "not-ready", false, "List only VmGroups whose condition Ready is not True.")
	return c
}

func (g *getOptions) run(c *cobra.Command, l *listing, names []string) error {
	selector, err := labels.Parse(g.selector)
	switch {
	case err != nil:
		return cluster.Usage("--selector cannot be read: %v.", err)
	case len(names) > 0 && (g.allNamespaces || g.selector != ""):
		return cluster.Usage("Choose VmGroups by their names, or by --all-namespaces and --selector.")
	}
	in, contexts, err := (&intervention{Options: g.Options, dry: dryNone}).here(c.Context())
	if err != nil {
		return err
	}
	namespace := cmp.Or(g.namespace, contexts.Namespace(in.Context))
	if g.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	groups := &v1alpha1.VmGroupList{}
	if err := in.List(c.Context(), groups, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return cluster.Explain(in.Context, in.Config.Host, err)
	}
	for _, name := range names {
		if !slices.ContainsFunc(groups.Items, func(is v1alpha1.VmGroup) bool { return is.Name == name }) {
			return cluster.Usage("Namespace %q of context %q has no VmGroup %q.", namespace, in.Context, name)
		}
	}
	groups.Items = slices.DeleteFunc(groups.Items, func(is v1alpha1.VmGroup) bool {
		return len(names) > 0 && !slices.Contains(names, is.Name) || g.notReady && stateOf(&is).ready
	})
	sortGroups(groups.Items)
	if len(groups.Items) == 0 && *l.format.OutputFormat == "" {
		_, err := fmt.Fprintln(g.ErrOut, "No VmGroup was found.")
		return err
	}
	return l.print(g.Options, groups, func() *metav1.Table { return groupTable(groups.Items, g.allNamespaces, g.ascii, g.Now()) }, groupDrops...)
}

// groupState is the state of a VmGroup as a person sees it.
type groupState struct {
	mark  term.Mark
	word  string
	ready bool
	// rank orders states: those that a person must check come first.
	rank int
	// since is the time of the last change of condition Ready, and reason why it is not True.
	since  time.Time
	reason string
}

func stateOf(g *v1alpha1.VmGroup) groupState {
	s := groupState{since: g.CreationTimestamp.Time}
	status := metav1.ConditionUnknown
	if c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		status, s.ready = c.Status, c.Status == metav1.ConditionTrue
		if c.LastTransitionTime.Unix() > 0 { // the default of a new VmGroup
			s.since = c.LastTransitionTime.Time
		}
		if !s.ready {
			s.reason = untrusted.Text(c.Reason, 60)
		}
	}
	switch {
	case g.DeletionTimestamp != nil:
		s.mark, s.word, s.rank = term.Note, "deleting", 2
	case meta.IsStatusConditionTrue(g.Status.Conditions, v1alpha1.ConditionPaused):
		s.mark, s.word, s.rank = term.Note, "paused", 4
	case status == metav1.ConditionUnknown:
		s.mark, s.word, s.rank = term.Unknown, "unknown", 1
	case g.Status.Phase == v1alpha1.PhaseError:
		s.mark, s.word, s.rank = term.Bad, "error", 0
	case g.Status.Phase == v1alpha1.PhaseRunning:
		s.mark, s.word, s.rank = term.OK, "running", 5
	default:
		s.mark, s.word, s.rank = term.Warn, "pending", 3
	}
	return s
}

func sortGroups(groups []v1alpha1.VmGroup) {
	slices.SortStableFunc(groups, func(a, b v1alpha1.VmGroup) int {
		return cmp.Or(cmp.Compare(stateOf(&a).rank, stateOf(&b).rank), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// groupDrops are the columns that a narrow terminal does not show, the least important first.
var groupDrops = []string{"VCenter", "Memory", "CPU", "Updated"}

func groupTable(groups []v1alpha1.VmGroup, namespaces, ascii bool, now time.Time) *metav1.Table {
	names := []string{"Name", "State", "Ready", "Updated", "CPU", "Memory", "VCenter", "Since", "Reason"}
	if namespaces {
		names = append([]string{"Namespace"}, names...)
	}
	table := columns(names...)
	style := term.Style{ASCII: ascii} // colors would count as characters of the cell
	for i := range groups {
		g := &groups[i]
		s := stateOf(g)
		cells := []any{
			g.Name, style.Mark(s.mark) + " " + s.word, fmt.Sprintf("%d/%d", g.Status.ReadyReplicas, g.Status.DesiredReplicas), int64(g.Status.UpdatedReplicas), int64(g.Spec.CPU),
			fmt.Sprintf("%dGi", g.Spec.Memory), untrusted.Text(g.Status.VCenter, 63), duration.HumanDuration(now.Sub(s.since)), s.reason,
		}
		if namespaces {
			cells = append([]any{g.Namespace}, cells...)
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: cells})
	}
	return table
}
