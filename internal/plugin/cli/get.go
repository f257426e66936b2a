package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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
	allMembers, watch       bool
}

func getCommand(o *Options) *cobra.Command {
	g := &getOptions{Options: o}
	c := &cobra.Command{
		Use: "get [NAME...]", Short: "List the VmGroups of a namespace, those that are not ready first",
		Long: "SINCE is for how long condition Ready has had its value, and REASON why it is not True.",
		Example: `# All VmGroups of the cluster that are not ready, with the reason
kubectl vmgroup get -A --not-ready

# Those of all members of the hub that contexts of the kubeconfig reach
kubectl vmgroup get --all-members --not-ready`,
	}
	l := newListing(c)
	c.RunE = func(c *cobra.Command, names []string) error { return g.run(c, l, names) }
	flags := c.Flags()
	flags.StringVarP(&g.namespace, "namespace", "n", "", "Namespace of the VmGroups. The default is that of the context.")
	flags.BoolVarP(&g.allNamespaces, "all-namespaces", "A", false, "List the VmGroups of all namespaces.")
	flags.BoolVar(&g.allMembers, "all-members", false, "List the VmGroups of all namespaces of all members of the hub. The command finds the contexts of the members by the UIDs of their clusters.")
	flags.BoolVarP(&g.watch, "watch", "w", false, "Show the list until the command is interrupted. On a terminal, the list replaces the one before. Elsewhere, rows that change are printed.")
	flags.StringVarP(&g.selector, "selector", "l", "", "Label selector.")
	flags.BoolVar(&g.notReady, "not-ready", false, "List only VmGroups whose condition Ready is not True.")
	return c
}

func (g *getOptions) run(c *cobra.Command, l *listing, names []string) error {
	selector, err := labels.Parse(g.selector)
	switch {
	case err != nil:
		return cluster.Usage("--selector cannot be read: %v.", err)
	case len(names) > 0 && (g.allNamespaces || g.allMembers || g.selector != ""):
		return cluster.Usage("Choose VmGroups by their names, or by --all-namespaces, --all-members and --selector.")
	case (g.allMembers || g.watch) && *l.format.OutputFormat != "":
		return cluster.Usage("--output shows the objects of one cluster at one time. Use it without --all-members and --watch.")
	}
	read, err := g.source(c, names, selector)
	if err != nil {
		return err
	}
	if g.watch {
		return g.Options.watch(c.Context(), func(ctx context.Context) (view, error) {
			listed, unasked, err := read(ctx)
			if err == nil {
				err = unknownMembers(unasked)
			}
			return groupList(g.table(listed)), err
		})
	}
	listed, unasked, err := read(c.Context())
	if err != nil {
		return err
	}
	if len(listed) == 0 && *l.format.OutputFormat == "" {
		_, _ = fmt.Fprintln(g.ErrOut, nothingFound)
		return unknownMembers(unasked)
	}
	objects := &v1alpha1.VmGroupList{Items: []v1alpha1.VmGroup{}}
	for _, of := range listed {
		objects.Items = append(objects.Items, *of.VmGroup)
	}
	return errors.Join(l.print(g.Options, objects, func() *metav1.Table { return g.table(listed) }, groupDrops...), unknownMembers(unasked))
}

const nothingFound = "No VmGroup was found."

// source reads the chosen groups, in the order of the list. unasked are the members whose groups are not known, each with the reason.
type source func(ctx context.Context) (listed []listedGroup, unasked []string, err error)

// source returns the source of the list.
func (g *getOptions) source(c *cobra.Command, names []string, selector labels.Selector) (source, error) {
	if g.allMembers {
		members, missing, err := g.reach(c)
		return func(ctx context.Context) ([]listedGroup, []string, error) {
			listed, unasked := g.ofMembers(ctx, members, selector)
			return listed, append(slices.Clone(missing), unasked...), nil
		}, err
	}
	in, contexts, err := (&intervention{Options: g.Options, dry: dryNone}).here(c.Context())
	if err != nil {
		return nil, err
	}
	namespace := cmp.Or(g.namespace, contexts.Namespace(in.Context))
	if g.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	return func(ctx context.Context) ([]listedGroup, []string, error) {
		listed, err := g.ofOne(ctx, in, namespace, names, selector)
		return listed, nil, err
	}, nil
}

// ofOne reads the chosen groups of one cluster.
func (g *getOptions) ofOne(ctx context.Context, in *cluster.Cluster, namespace string, names []string, selector labels.Selector) (listed []listedGroup, err error) {
	groups := &v1alpha1.VmGroupList{}
	if err := in.List(ctx, groups, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, cluster.Explain(in.Context, in.Config.Host, err)
	}
	for _, name := range names {
		if !slices.ContainsFunc(groups.Items, func(is v1alpha1.VmGroup) bool { return is.Name == name }) {
			return nil, cluster.Usage("Namespace %q of context %q has no VmGroup %q.", namespace, in.Context, name)
		}
	}
	for i := range groups.Items {
		if is := &groups.Items[i]; (len(names) == 0 || slices.Contains(names, is.Name)) && (!g.notReady || !stateOf(is).ready) {
			listed = append(listed, listedGroup{VmGroup: is})
		}
	}
	sortGroups(listed)
	return listed, nil
}

// ofMembers reads the chosen groups of members.
func (g *getOptions) ofMembers(ctx context.Context, members []reached, selector labels.Selector) (listed []listedGroup, unasked []string) {
	var mu sync.Mutex
	unasked = askAll(ctx, members, func(ctx context.Context, of reached) error {
		groups := &v1alpha1.VmGroupList{}
		if err := of.List(ctx, groups, client.MatchingLabelsSelector{Selector: selector}); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for i := range groups.Items {
			if is := &groups.Items[i]; !g.notReady || !stateOf(is).ready {
				listed = append(listed, listedGroup{of.member, is})
			}
		}
		return nil
	})
	sortGroups(listed)
	return listed, unasked
}

func (g *getOptions) table(listed []listedGroup) *metav1.Table {
	return groupTable(listed, g.allMembers, g.allMembers || g.allNamespaces, g.ascii, g.times())
}

func groupList(table *metav1.Table) list {
	return list{Table: table, age: "Since", empty: nothingFound, drop: groupDrops}
}

// listedGroup is a row of a list.
type listedGroup struct {
	// member is empty in the list of one cluster.
	member string
	*v1alpha1.VmGroup
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

func sortGroups(groups []listedGroup) {
	slices.SortStableFunc(groups, func(a, b listedGroup) int {
		return cmp.Or(cmp.Compare(stateOf(a.VmGroup).rank, stateOf(b.VmGroup).rank), cmp.Compare(a.member, b.member), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// groupDrops are the columns that a narrow terminal does not show, the least important first.
var groupDrops = []string{"VCenter", "Memory", "CPU", "Updated"}

func groupTable(groups []listedGroup, members, namespaces, ascii bool, times term.Times) *metav1.Table {
	names := []string{"Name", "State", "Ready", "Updated", "CPU", "Memory", "VCenter", "Since", "Reason"}
	if namespaces {
		names = append([]string{"Namespace"}, names...)
	}
	if members {
		names = append([]string{"Member"}, names...)
	}
	table := columns(names...)
	style := term.Style{ASCII: ascii} // colors would count as characters of the cell
	for i := range groups {
		g := groups[i].VmGroup
		s := stateOf(g)
		cells := []any{
			g.Name, style.Mark(s.mark) + " " + s.word, fmt.Sprintf("%d/%d", g.Status.ReadyReplicas, g.Status.DesiredReplicas), int64(g.Status.UpdatedReplicas), int64(g.Spec.CPU),
			fmt.Sprintf("%dGi", g.Spec.Memory), untrusted.Text(g.Status.VCenter, 63), times.Age(s.since), s.reason,
		}
		if namespaces {
			cells = append([]any{g.Namespace}, cells...)
		}
		if members {
			cells = append([]any{groups[i].member}, cells...)
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: cells})
	}
	return table
}
