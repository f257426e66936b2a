// Package shards reads and prints which replica holds which share of the groups, for manager shards and kubectl vmgroup shards.
package shards

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/hub"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// maxCell limits a cell of the table, in bytes.
const maxCell = 2048

// Snapshot is the shard map and the sessions of the replicas.
type Snapshot = hub.Snapshot

// Read reads the shard map and the sessions in the operator's namespace.
func Read(ctx context.Context, kubeconfig *rest.Config, namespace string) (Snapshot, error) {
	client, err := hub.New(kubeconfig, hub.Options{Namespace: namespace})
	if err != nil {
		return Snapshot{}, err
	}
	s, err := client.Snapshot(ctx)
	if err != nil {
		err = fmt.Errorf("read the shard map and the sessions in namespace %q: %w", namespace, err)
	}
	return s, err
}

// BucketOf returns the bucket of a VmGroup of the cluster with a UID.
func BucketOf(s Snapshot, clusterUID, namespace, name string) int {
	return ring.Bucket(clusterUID, namespace, name, len(s.Ring.Buckets))
}

// Print prints a row for each session, and rows for buckets without a session.
func Print(out io.Writer, s Snapshot, now time.Time) error {
	if !s.Found {
		_, err := fmt.Fprintln(out, "There is no shard map yet: no replica has run here, or the shard map was deleted and the replicas create it again.")
		return err
	}
	held := map[string]int{}
	for _, lock := range s.Ring.Buckets {
		held[lock.Holder]++
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintf(table, "REPLICA\tSESSION\tSTATE\tBUCKETS\tLEADER\tRENEWED\n")
	slices.SortFunc(s.Sessions, func(a, b hub.Session) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Session, b.Session))
	})
	cell := func(s string) string { return untrusted.Text(s, maxCell) }
	for _, session := range s.Sessions {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s ago\n", cell(cmp.Or(session.Host, "-")), cell(session.Session), cell(cmp.Or(string(session.State), "unknown")),
			held[session.Session], map[bool]string{true: "yes"}[s.Ring.Leader.Holder == session.Session], max(now.Sub(session.Renewed), 0).Truncate(100*time.Millisecond))
		delete(held, session.Session)
	}
	lost := 0
	for holder, n := range held {
		if holder != "" {
			lost += n
		}
	}
	if n := held[""]; n > 0 {
		_, _ = fmt.Fprintf(table, "-\t-\tfree\t%d\t\t\n", n)
	}
	if lost > 0 {
		_, _ = fmt.Fprintf(table, "-\t-\tlost session\t%d\t\t\n", lost)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%d buckets, generation %d (rebuilt in %d), written %d times; sessions are valid for %s and given up after %s.\n",
		s.Ring.Settings.Buckets, s.Ring.Generation, s.Ring.Rebuilt, s.Ring.Sequence, s.Ring.Settings.Validity, s.Ring.Settings.Patience)
	return err
}
