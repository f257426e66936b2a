package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/describe"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// eventOptions choose events of VmGroups.
type eventOptions struct {
	*Options
	namespace                          string
	allNamespaces, allMembers, watched bool
}

func eventsCommand(o *Options) *cobra.Command {
	e := &eventOptions{Options: o}
	c := &cobra.Command{
		Use: "events [NAME]", Short: "List the events of VmGroups, the newest first", Args: cobra.MaximumNArgs(1),
	}
	l := newListing(c)
	c.RunE = func(c *cobra.Command, names []string) error { return e.run(c, l, names) }
	flags := c.Flags()
	flags.StringVarP(&e.namespace, "namespace", "n", "", "Namespace of the VmGroups. The default is that of the context.")
	flags.BoolVarP(&e.allNamespaces, "all-namespaces", "A", false, "List the events of all namespaces.")
	flags.BoolVar(&e.allMembers, "all-members", false, "List the events of all namespaces of all members of the hub. The command finds the contexts of the members by the UIDs of their clusters.")
	flags.BoolVarP(&e.watched, "watch", "w", false, "Show the list until the command is interrupted. On a terminal, the list replaces the one before. Elsewhere, events that are new or happen again are printed.")
	return c
}

const noEvent = "No event was found. An API server keeps events for an hour, unless it is configured otherwise."

func (e *eventOptions) run(c *cobra.Command, l *listing, names []string) error {
	switch {
	case len(names) > 0 && (e.allNamespaces || e.allMembers):
		return cluster.Usage("Choose a VmGroup by its name, or all by --all-namespaces or --all-members.")
	case (e.allMembers || e.watched) && *l.format.OutputFormat != "":
		return cluster.Usage("--output shows the objects of one cluster at one time. Use it without --all-members and --watch.")
	}
	read, err := e.source(c, names)
	if err != nil {
		return err
	}
	if e.watched {
		return e.watch(c.Context(), func(ctx context.Context) (view, error) {
			events, unasked, err := read(ctx)
			if err == nil {
				err = unknownMembers(unasked)
			}
			return list{Table: e.table(events), age: "Last-Seen", empty: noEvent, drop: eventDrops}, err
		})
	}
	events, unasked, err := read(c.Context())
	if err != nil {
		return err
	}
	if len(events) == 0 && *l.format.OutputFormat == "" {
		_, _ = fmt.Fprintln(e.ErrOut, noEvent)
		return unknownMembers(unasked)
	}
	objects := &corev1.EventList{Items: []corev1.Event{}}
	for _, of := range events {
		objects.Items = append(objects.Items, of.Event)
	}
	return errors.Join(l.print(e.Options, objects, func() *metav1.Table { return e.table(events) }, eventDrops...), unknownMembers(unasked))
}

// listedEvent is an event of a VmGroup. member is empty in the list of one cluster.
type listedEvent struct {
	member string
	corev1.Event
}

// source returns the source of the list. unasked are the members whose events are not known, each with the reason.
func (e *eventOptions) source(c *cobra.Command, names []string) (func(ctx context.Context) (events []listedEvent, unasked []string, err error), error) {
	if e.allMembers {
		members, missing, err := e.reach(c)
		return func(ctx context.Context) ([]listedEvent, []string, error) {
			events, unasked := e.ofMembers(ctx, members)
			return events, append(slices.Clone(missing), unasked...), nil
		}, err
	}
	in, contexts, err := (&intervention{Options: e.Options, dry: dryNone}).here(c.Context())
	if err != nil {
		return nil, err
	}
	namespace := cmp.Or(e.namespace, contexts.Namespace(in.Context))
	if e.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	var named []fields.Selector
	for _, name := range names {
		named = append(named, fields.OneTermEqualSelector("involvedObject.name", name))
	}
	return func(ctx context.Context) (events []listedEvent, _ []string, err error) {
		found, err := eventsOf(ctx, in, client.InNamespace(namespace), named...)
		return listedOf("", found), nil, cluster.Explain(in.Context, in.Config.Host, err)
	}, nil
}

// ofMembers reads the events of members.
func (e *eventOptions) ofMembers(ctx context.Context, members []reached) (events []listedEvent, unasked []string) {
	var mu sync.Mutex
	unasked = askAll(ctx, members, func(ctx context.Context, of reached) error {
		found, err := eventsOf(ctx, of.Cluster, metav1.NamespaceAll)
		mu.Lock()
		defer mu.Unlock()
		events = append(events, listedOf(of.member, found)...)
		return err
	})
	return events, unasked
}

func listedOf(member string, events []corev1.Event) []listedEvent {
	listed := make([]listedEvent, len(events))
	for i := range events {
		listed[i] = listedEvent{member, events[i]}
	}
	return listed
}

// eventsOf reads the events of VmGroups.
func eventsOf(ctx context.Context, in *cluster.Cluster, namespace client.InNamespace, more ...fields.Selector) ([]corev1.Event, error) {
	events := &corev1.EventList{}
	selector := fields.AndSelectors(append(more, fields.OneTermEqualSelector("involvedObject.kind", "VmGroup"))...)
	err := in.List(ctx, events, namespace, client.MatchingFieldsSelector{Selector: selector})
	return events.Items, err
}

// eventDrops are the columns that a narrow terminal does not show, the least important first.
var eventDrops = []string{"Type"}

// table lists events, the newest first.
func (e *eventOptions) table(events []listedEvent) *metav1.Table {
	names := []string{"Last-Seen", "Type", "Reason", "VmGroup", "Message"}
	if e.allMembers {
		names = append([]string{"Member"}, names...)
	}
	table := columns(names...)
	slices.SortStableFunc(events, func(a, b listedEvent) int { return describe.Newest(&a.Event, &b.Event) })
	for i := range events {
		entry := describe.EntryOf(&events[i].Event)
		kind := corev1.EventTypeNormal
		if entry.Warning {
			kind = corev1.EventTypeWarning
		}
		group := entry.Group
		if _, name, ok := strings.Cut(group, "/"); ok && !e.allNamespaces && !e.allMembers {
			group = name
		}
		cells := []any{e.times().Age(entry.Time), kind, entry.Reason, group, untrusted.Text(entry.Text, longestMessage)}
		if e.allMembers {
			cells = append([]any{events[i].member}, cells...)
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: cells})
	}
	return table
}
