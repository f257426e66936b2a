package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/describe"
	"github.com/codeconnect/vmgroup-operator/internal/shards"
	"github.com/codeconnect/vmgroup-operator/internal/term"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

func describeCommand(o *Options) *cobra.Command {
	namespace := ""
	c := &cobra.Command{
		Use: "describe NAME", Short: "Explain the state of a VmGroup: why it waits, what to do, and what happened", Args: cobra.ExactArgs(1),
		Long: `Reads the VmGroup and its events. With --hub-context or $` + hubContextVariable + `, it also names the replica of the operator that holds the group. Of a group with
more than 20 VMs, it lists those that are not ready.`,
		RunE: func(c *cobra.Command, args []string) error { return o.describe(c, namespace, args[0]) },
	}
	c.Flags().StringVarP(&namespace, "namespace", "n", "", "Namespace of the VmGroup. The default is that of the context.")
	return c
}

// historyLines is the number of events that a description has.
const historyLines = 10

func (o *Options) describe(c *cobra.Command, namespace, name string) error {
	in, contexts, err := (&intervention{Options: o, dry: dryNone}).here(c.Context())
	if err != nil {
		return err
	}
	if namespace == "" {
		namespace = contexts.Namespace(in.Context)
	}
	g := &v1alpha1.VmGroup{}
	err = in.Get(c.Context(), types.NamespacedName{Namespace: namespace, Name: name}, g)
	if apierrors.IsNotFound(err) {
		return cluster.Usage("Namespace %q of context %q has no VmGroup %q.", namespace, in.Context, name)
	}
	if err != nil {
		return cluster.Explain(in.Context, in.Config.Host, err)
	}
	served := ""
	if o.hubContext != "" || os.Getenv(hubContextVariable) != "" {
		served = o.servedBy(c, contexts, in, g)
	}
	page := &page{style: o.style(), width: o.width()}
	page.group(in.Context, g, o, served)
	page.entries("Edits", describe.Edits(g), o)
	events, err := eventsOf(c.Context(), in, client.InNamespace(namespace), fields.OneTermEqualSelector("involvedObject.uid", string(g.UID)))
	switch {
	case apierrors.IsForbidden(err):
		page.section("History", "The user of this context cannot read events.")
	case err != nil:
		return cluster.Explain(in.Context, in.Config.Host, err)
	default:
		page.history(g, events, o)
	}
	_, err = io.Copy(o.Out, &page.out)
	return err
}

// servedBy names the replica that holds a group. An answer that the hub does not give is no failure: the rest of the description comes from the member.
func (o *Options) servedBy(c *cobra.Command, contexts *cluster.Contexts, in *cluster.Cluster, g *v1alpha1.VmGroup) string {
	facts, err := in.Ask(c.Context(), o.Now)
	if err != nil {
		return "not known: " + err.Error()
	}
	hub, err := o.hub(c, contexts)
	if err != nil {
		return "not known: " + err.Error()
	}
	snapshot, err := shards.Read(c.Context(), hub.Config, o.namespace)
	switch {
	case err != nil:
		return "not known: " + cluster.Explain(hub.Context, hub.Config.Host, err).Error()
	case !snapshot.Found:
		return "not known: the hub has no shard map"
	}
	bucket := shards.BucketOf(snapshot, facts.UID, g.Namespace, g.Name)
	holder, _ := holderOf(snapshot, bucket)
	return fmt.Sprintf("bucket %d, %s", bucket, holder)
}

// eventsOf reads the events of VmGroups.
func eventsOf(ctx context.Context, in *cluster.Cluster, namespace client.InNamespace, more ...fields.Selector) ([]corev1.Event, error) {
	events := &corev1.EventList{}
	selector := fields.AndSelectors(append(more, fields.OneTermEqualSelector("involvedObject.kind", "VmGroup"))...)
	err := in.List(ctx, events, namespace, client.MatchingFieldsSelector{Selector: selector})
	return events.Items, err
}

// page prints sections with titles in a column of their own.
type page struct {
	out   bytes.Buffer
	style term.Style
	width int
}

// margin is the width of the column of titles.
const margin = 12

func (p *page) group(context string, g *v1alpha1.VmGroup, o *Options, served string) {
	now := o.Now()
	_, _ = fmt.Fprintf(&p.out, "VmGroup %s/%s   context %s\n", g.Namespace, g.Name, context)
	s := stateOf(g)
	state := p.style.Mark(s.mark) + " " + s.word + ", " + duration.HumanDuration(now.Sub(s.since))
	if s.reason != "" {
		state += ": " + s.reason
	}
	for _, section := range describe.Of(g, state, now) {
		p.section(section.Title, section.Lines...)
		if section.Title == "VMs" {
			p.vms(g, o)
		}
	}
	if served != "" {
		p.section("Served", served)
	}
}

func (p *page) section(title string, lines ...string) {
	for _, line := range lines {
		if p.width > 2*margin {
			line = lipgloss.NewStyle().Width(p.width - margin).Render(line)
		}
		for part := range strings.Lines(line) {
			_, _ = fmt.Fprintln(&p.out, strings.TrimRight(fmt.Sprintf("  %-*s%s", margin-2, title, strings.TrimRight(part, "\n")), " "))
			title = ""
		}
	}
}

// table prints rows below a section.
func (p *page) table(table *metav1.Table, drop ...string) {
	var text bytes.Buffer
	_ = fitTable(&text, table, false, max(p.width-margin, 0), drop) // a buffer does not fail
	for line := range strings.Lines(text.String()) {
		_, _ = fmt.Fprintln(&p.out, strings.TrimRight(strings.Repeat(" ", margin)+line, " \n"))
	}
}

var phaseMarks = map[string]term.Mark{
	string(v1alpha1.VMReady): term.OK, string(v1alpha1.VMStopped): term.OK, string(v1alpha1.VMFailed): term.Bad, string(v1alpha1.VMLost): term.Bad, string(v1alpha1.VMUnhealthy): term.Bad,
	"Unknown": term.Unknown,
}

func (p *page) vms(g *v1alpha1.VmGroup, o *Options) {
	vms, rest := describe.VMs(g, o.Now())
	if len(vms) > 0 {
		table := columns("Ordinal", "Name", "State", "IP", "Revision", "Ready-For", "Message")
		plain := term.Style{ASCII: p.style.ASCII} // colors would count as characters of the cell
		for _, vm := range vms {
			mark, ok := phaseMarks[vm.Phase]
			if !ok {
				mark = term.Note
			}
			table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{vm.Ordinal, vm.Name, plain.Mark(mark) + " " + strings.ToLower(vm.Phase), vm.IP, vm.Revision, vm.Age, vm.Message}})
		}
		p.table(withoutEmptyColumns(table), "Message", "Ready-For", "IP")
	}
	if rest > 0 {
		p.section("", fmt.Sprintf("and %d more: kubectl get vmgroup %s -n %s -o yaml", rest, g.Name, g.Namespace))
	}
}

func (p *page) history(g *v1alpha1.VmGroup, events []corev1.Event, o *Options) {
	entries := describe.Events(events)
	if len(entries) == 0 {
		p.section("History", "There are no events. The API server keeps them for an hour, unless it is configured otherwise.")
		return
	}
	p.entries("History", entries[:min(historyLines, len(entries))], o)
	if rest := len(entries) - historyLines; rest > 0 {
		p.section("", fmt.Sprintf("and %d more: kubectl vmgroup events %s -n %s", rest, g.Name, g.Namespace))
	}
}

func (p *page) entries(title string, entries []describe.Entry, o *Options) {
	for _, e := range entries {
		p.section(title, fmt.Sprintf("%s ago   %s   %s", duration.HumanDuration(o.Now().Sub(e.Time)), e.Reason, e.Text))
		title = ""
	}
}

func eventsCommand(o *Options) *cobra.Command {
	namespace, all := "", false
	c := &cobra.Command{
		Use: "events [NAME]", Short: "List the events of VmGroups, the newest first", Args: cobra.MaximumNArgs(1),
	}
	l := newListing(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		in, contexts, err := (&intervention{Options: o, dry: dryNone}).here(c.Context())
		switch {
		case err != nil:
			return err
		case all && len(args) > 0:
			return cluster.Usage("Choose a VmGroup by its name, or all by --all-namespaces.")
		case all:
			namespace = metav1.NamespaceAll
		case namespace == "":
			namespace = contexts.Namespace(in.Context)
		}
		var named []fields.Selector
		for _, name := range args {
			named = append(named, fields.OneTermEqualSelector("involvedObject.name", name))
		}
		events, err := eventsOf(c.Context(), in, client.InNamespace(namespace), named...)
		if err != nil {
			return cluster.Explain(in.Context, in.Config.Host, err)
		}
		if len(events) == 0 && *l.format.OutputFormat == "" {
			_, err := fmt.Fprintln(o.ErrOut, "No event was found. An API server keeps events for an hour, unless it is configured otherwise.")
			return err
		}
		return l.print(o, &corev1.EventList{Items: events}, func() *metav1.Table { return eventTable(describe.Events(events), all, o) }, "Type")
	}
	c.Flags().StringVarP(&namespace, "namespace", "n", "", "Namespace of the VmGroups. The default is that of the context.")
	c.Flags().BoolVarP(&all, "all-namespaces", "A", false, "List the events of all namespaces.")
	return c
}

func eventTable(entries []describe.Entry, namespaces bool, o *Options) *metav1.Table {
	table := columns("Last-Seen", "Type", "Reason", "VmGroup", "Message")
	for _, e := range entries {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		group := e.Group
		if _, name, ok := strings.Cut(group, "/"); ok && !namespaces {
			group = name
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{duration.HumanDuration(o.Now().Sub(e.Time)), kind, e.Reason, group, untrusted.Text(e.Text, longestMessage)}})
	}
	return table
}
