package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

const (
	// contextTime limits the questions to one context, and concurrentContexts their number.
	contextTime        = 2 * time.Second
	concurrentContexts = 8
)

func contextsCommand(o *Options) *cobra.Command {
	scan := false
	c := &cobra.Command{
		Use: "contexts", Short: "Tell which context of the kubeconfig is a hub, and which is a member", Args: cobra.NoArgs,
		Long: `Shows the role of each context's cluster: hub, member, both or none. Commands remember the roles of the contexts that they use, and --scan asks the others.
A context that does not answer within 2 seconds has the role unknown.`,
		RunE: func(c *cobra.Command, _ []string) error { return o.contexts(c, scan) },
	}
	c.Flags().BoolVar(&scan, "scan", false, "Ask the clusters of all contexts, which can start the login programs of their users.")
	return c
}

// found is a context with the role of its cluster.
type found struct {
	*cluster.Cluster
	cluster.Role
	// note is why the role is not known, or empty.
	note string
}

// asking chooses whether the cluster of a context is asked, if commands have a memory of its role.
type asking int

const (
	remembered asking = iota // only the memory counts
	asked                    // the cluster is asked if its role is not remembered
	askedAgain               // the cluster is asked
)

func (o *Options) contexts(c *cobra.Command, scan bool) error {
	all, err := cluster.Load(c.Context(), o.flags)
	if err != nil {
		return err
	}
	how := remembered
	if scan {
		how = askedAgain
	}
	table, unknown := columns("Context", "Role", "Cluster-UID", "Served-By", "Note"), false
	names := all.Names()
	for i, f := range o.roles(c.Context(), all, how) {
		unknown = unknown || f.UID == ""
		table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{untrusted.Text(names[i], 253), f.word(), f.UID, f.Installation, f.note}})
	}
	if unknown && !scan {
		_, _ = fmt.Fprintln(o.ErrOut, "To ask the contexts whose role is not known: kubectl vmgroup contexts --scan")
	}
	return printTable(o.Out, table, false, "Note", "Served-By")
}

func (f found) word() string {
	switch {
	case f.UID == "" || f.note != "":
		return "unknown"
	case f.Hub && f.Installation != "":
		return "hub, member"
	case f.Hub:
		return "hub"
	case f.Installation != "":
		return "member"
	}
	return "none"
}

// roles returns all contexts, in the order of their names.
func (o *Options) roles(ctx context.Context, all *cluster.Contexts, how asking) []found {
	names := all.Names()
	roles := make([]found, len(names))
	group := errgroup.Group{}
	group.SetLimit(concurrentContexts)
	for i, name := range names {
		group.Go(func() error {
			var err error
			var failure *cluster.Failure
			if roles[i], err = o.roleOf(ctx, all, name, how); errors.As(err, &failure) {
				roles[i].note = untrusted.Text(failure.Sentence, 120)
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return no error
	return roles
}

// roleOf returns the role of one context. Without an error, an empty UID means that it is not remembered. With an error, the UID can be known.
func (o *Options) roleOf(ctx context.Context, all *cluster.Contexts, name string, how asking) (f found, err error) {
	if f.Cluster, err = all.Open(name); err != nil {
		return f, err
	}
	role, known := o.memory.Role(name, f.Config)
	if how == remembered || known && how == asked {
		f.Role = role
		return f, nil
	}
	ctx, cancel := context.WithTimeout(ctx, contextTime)
	defer cancel()
	facts, err := f.Ask(ctx, o.Now)
	if err != nil {
		return f, err
	}
	f.UID = facts.UID
	if f.Hub, err = f.IsHub(ctx); err != nil {
		return f, err
	}
	claim := &corev1.ConfigMap{}
	err = f.Get(ctx, types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: install.ClaimName}, claim)
	if client.IgnoreNotFound(err) != nil {
		return f, cluster.Explain(name, f.Config.Host, err)
	}
	f.Installation = untrusted.Text(claim.Data[install.ClaimInstallationKey], 40)
	o.memory.Remember(name, f.Config, f.Role)
	return f, nil
}

// hubOf returns the context of the hub that serves a member, if a command has used it before. The member's claim names the hub, and its users can write the
// claim: the result is for commands that change nothing.
func (o *Options) hubOf(ctx context.Context, all *cluster.Contexts, member string, how asking) *cluster.Cluster {
	of, err := o.roleOf(ctx, all, member, how)
	if err != nil || of.Installation == "" {
		return nil
	}
	for _, f := range o.roles(ctx, all, remembered) {
		if f.Hub && f.UID == of.Installation {
			return f.Cluster
		}
	}
	return nil
}
