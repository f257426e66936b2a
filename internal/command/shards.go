package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/hub"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

func shardsCommand() *cobra.Command {
	var namespace string
	c := &cobra.Command{
		Use: "shards", Short: "Print which replica holds which share of the groups", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return shards(c.Context(), namespace, c.OutOrStdout()) },
	}
	NamespaceFlag(c.Flags(), &namespace)
	return c
}

// shards prints the holders of the buckets, as stored on the hub.
func shards(ctx context.Context, namespace string, out io.Writer) error {
	kubeconfig, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("find the hub's API server: %w", err)
	}
	client, err := hub.New(kubeconfig, hub.Options{Namespace: namespace})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	snapshot, err := client.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("read the shard map and the sessions in namespace %q: %w", namespace, err)
	}
	return printShards(out, snapshot, time.Now())
}

// printShards prints a row for each session, and rows for buckets without a session.
func printShards(out io.Writer, s hub.Snapshot, now time.Time) error {
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
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\n", cell(cmp.Or(session.Host, "-")), cell(session.Session), cell(cmp.Or(string(session.State), "unknown")),
			held[session.Session], yes(s.Ring.Leader.Holder == session.Session), ago(now.Sub(session.Renewed)))
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

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

// ago returns how long ago an event was, by the clocks of two machines.
func ago(d time.Duration) string {
	if d < 0 {
		return "just now"
	}
	return d.Truncate(100*time.Millisecond).String() + " ago"
}
