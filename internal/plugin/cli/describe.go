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
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/change"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/describe"
	"github.com/codeconnect/vmgroup-operator/internal/shards"
	"github.com/codeconnect/vmgroup-operator/internal/term"
)

// describeOptions choose a VmGroup.
type describeOptions struct {
	*Options
	namespace string
	watched   bool
}

func describeCommand(o *Options) *cobra.Command {
	d := &describeOptions{Options: o}
	c := &cobra.Command{
		Use: "describe NAME", Short: "Explain the state of a VmGroup: why it waits, what to do, and what happened", Args: cobra.ExactArgs(1),
		Long: `Reads the VmGroup and its events. With --hub-context or $` + hubContextVariable + `, or if kubectl vmgroup contexts --scan has found the hub, it also names the
replica of the operator that holds the group. Of a group with more than 20 VMs, it lists those that are not ready.`,
		RunE: func(c *cobra.Command, args []string) error { return d.run(c, args[0]) },
	}
	c.Flags().StringVarP(&d.namespace, "namespace", "n", "", "Namespace of the VmGroup. The default is that of the context.")
	c.Flags().BoolVarP(&d.watched, "watch", "w", false, "Show the description until the command is interrupted. On a terminal, it replaces the one before. Elsewhere, it is printed again after each change.")
	return c
}

// historyLines is the number of events that a description has.
const historyLines = 10

func (d *describeOptions) run(c *cobra.Command, name string) error {
	in, contexts, err := (&intervention{Options: d.Options, dry: dryNone}).here(c.Context())
	if err != nil {
		return err
	}
	if d.namespace == "" {
		d.namespace = contexts.Namespace(in.Context)
	}
	read := func(ctx context.Context) (*description, error) {
		is := &description{Options: d.Options, context: in.Context, group: &v1alpha1.VmGroup{}}
		err := in.Get(ctx, types.NamespacedName{Namespace: d.namespace, Name: name}, is.group)
		if apierrors.IsNotFound(err) {
			return nil, cluster.Usage("Namespace %q of context %q has no VmGroup %q.", d.namespace, in.Context, name)
		}
		if err != nil {
			return nil, cluster.Explain(in.Context, in.Config.Host, err)
		}
		if d.hubContext != "" || os.Getenv(hubContextVariable) != "" || d.hubOf(ctx, contexts, in.Context, remembered) != nil {
			is.served = d.servedBy(c, contexts, in, is.group)
		}
		is.events, err = eventsOf(ctx, in, client.InNamespace(d.namespace), fields.OneTermEqualSelector("involvedObject.uid", string(is.group.UID)))
		if is.hidden = apierrors.IsForbidden(err); is.hidden {
			err = nil
		}
		return is, cluster.Explain(in.Context, in.Config.Host, err)
	}
	if d.watched {
		return d.watch(c.Context(), func(ctx context.Context) (view, error) { return read(ctx) })
	}
	is, err := read(c.Context())
	if err != nil {
		return err
	}
	return is.changes(d.Out, nil)
}

// description is what a person learns about a VmGroup.
type description struct {
	*Options
	context string
	group   *v1alpha1.VmGroup
	served  string
	events  []corev1.Event
	// hidden is true if the user cannot read events.
	hidden bool
}

func (is *description) text(width int) string {
	page := &page{style: is.style(), width: width}
	page.group(is.context, is.group, is.Options, is.served)
	page.entries("Edits", describe.Edits(is.group), is.Options)
	if is.hidden {
		page.section("History", "The user of this context cannot read events.")
	} else {
		page.history(is.context, is.group, is.events, is.Options)
	}
	return page.out.String()
}

func (is *description) lines(size term.Size) ([]string, error) {
	return strings.Split(strings.TrimSuffix(is.text(size.Width-1), "\n"), "\n"), nil
}

// changes prints the description if more than ages has changed.
func (is *description) changes(out io.Writer, before view) error {
	was, again := before.(*description)
	if again && was.served == is.served && was.group.ResourceVersion == is.group.ResourceVersion && apiequality.Semantic.DeepEqual(was.events, is.events) {
		return nil
	}
	_, err := io.WriteString(out, is.text(is.width()))
	return err
}

// servedBy names the replica that holds a group. An answer that the hub does not give is no failure: the rest of the description comes from the member.
func (o *Options) servedBy(c *cobra.Command, contexts *cluster.Contexts, in *cluster.Cluster, g *v1alpha1.VmGroup) string {
	facts, err := in.Ask(c.Context(), o.Now)
	if err != nil {
		return "not known: " + err.Error()
	}
	hub, err := o.findHub(c, contexts)
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

// page prints sections with titles in a column of their own.
type page struct {
	out   bytes.Buffer
	style term.Style
	width int
}

// margin is the width of the column of titles.
const margin = 12

func (p *page) group(context string, g *v1alpha1.VmGroup, o *Options, served string) {
	times := o.times()
	_, _ = fmt.Fprintf(&p.out, "VmGroup %s/%s   context %s\n", g.Namespace, g.Name, context)
	s := stateOf(g)
	state := p.style.Mark(s.mark) + " " + s.word + ", " + times.For(s.since)
	if s.reason != "" {
		state += ": " + s.reason
	}
	for _, section := range describe.Of(g, state, times) {
		p.section(section.Title, section.Lines...)
		if section.Title == "VMs" {
			p.vms(context, g, o)
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

func (p *page) vms(context string, g *v1alpha1.VmGroup, o *Options) {
	vms, rest := describe.VMs(g, o.times())
	if len(vms) > 0 {
		table := columns("Ordinal", "Name", "State", "IP", "Revision", "Ready-Since", "Message")
		plain := term.Style{ASCII: p.style.ASCII} // colors would count as characters of the cell
		for _, vm := range vms {
			mark, ok := phaseMarks[vm.Phase]
			if !ok {
				mark = term.Note
			}
			table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{vm.Ordinal, vm.Name, plain.Mark(mark) + " " + strings.ToLower(vm.Phase), vm.IP, vm.Revision, vm.Age, vm.Message}})
		}
		p.table(withoutEmptyColumns(table), "Message", "Ready-Since", "IP")
	}
	if rest > 0 {
		p.section("", fmt.Sprintf("and %d more: kubectl get vmgroup %s -n %s --context %s -o yaml", rest, g.Name, g.Namespace, change.Quote(context)))
	}
}

func (p *page) history(context string, g *v1alpha1.VmGroup, events []corev1.Event, o *Options) {
	entries := describe.Events(events)
	if len(entries) == 0 {
		p.section("History", "There are no events. The API server keeps them for an hour, unless it is configured otherwise.")
		return
	}
	p.entries("History", entries[:min(historyLines, len(entries))], o)
	if rest := len(entries) - historyLines; rest > 0 {
		p.section("", fmt.Sprintf("and %d more: %s", rest, hint(context, "events", g)))
	}
}

func (p *page) entries(title string, entries []describe.Entry, o *Options) {
	for _, e := range entries {
		p.section(title, fmt.Sprintf("%s   %s   %s", o.times().Ago(e.Time), e.Reason, e.Text))
		title = ""
	}
}
