package cli

import (
	"context"
	"errors"
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
	return &cobra.Command{
		Use: "contexts", Short: "Tell which context of the kubeconfig is a hub, and which is a member", Args: cobra.NoArgs,
		Long: "Asks the cluster of each context for its role: hub, member, both or none. A context that does not answer within 2 seconds has the role unknown.",
		RunE: func(c *cobra.Command, _ []string) error { return contexts(c, o) },
	}
}

// role is what a context's cluster is for the operator.
type role struct{ context, role, uid, hub, note string }

func contexts(c *cobra.Command, o *Options) error {
	all, err := cluster.Load(o.flags)
	if err != nil {
		return err
	}
	names := all.Names()
	roles := make([]role, len(names))
	group := errgroup.Group{}
	group.SetLimit(concurrentContexts)
	for i, name := range names {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(c.Context(), contextTime)
			defer cancel()
			roles[i] = roleOf(ctx, o, all, name)
			return nil
		})
	}
	_ = group.Wait() // the functions return no error
	table := columns("Context", "Role", "Cluster-UID", "Served-By", "Note")
	for _, r := range roles {
		table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{r.context, r.role, r.uid, r.hub, r.note}})
	}
	return printTable(o.Out, table, false, "Note", "Served-By")
}

// roleOf asks the cluster of a context.
func roleOf(ctx context.Context, o *Options, all *cluster.Contexts, name string) role {
	r := role{context: name, role: "unknown"}
	fail := func(err error) role {
		var failure *cluster.Failure
		if errors.As(err, &failure) {
			r.note = untrusted.Text(failure.Sentence, 120)
		}
		return r
	}
	of, err := all.Open(name)
	if err != nil {
		return fail(err)
	}
	facts, err := of.Ask(ctx, o.Now)
	if err != nil {
		return fail(err)
	}
	r.uid = facts.UID
	hub, err := of.IsHub(ctx)
	if err != nil {
		return fail(err)
	}
	claim := &corev1.ConfigMap{}
	switch err := of.Get(ctx, types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: install.ClaimName}, claim); {
	case client.IgnoreNotFound(err) != nil:
		return fail(cluster.Explain(name, of.Config.Host, err))
	case err == nil:
		r.hub = untrusted.Text(claim.Data[install.ClaimInstallationKey], 40)
	}
	switch {
	case hub && r.hub != "":
		r.role = "hub, member"
	case hub:
		r.role = "hub"
	case r.hub != "":
		r.role = "member"
	default:
		r.role = "none"
	}
	return r
}
