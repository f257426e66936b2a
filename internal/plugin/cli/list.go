package cli

import (
	"cmp"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/term"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

func listCommand(o *Options) *cobra.Command {
	c := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List the members of the hub, those that are not ready first", Args: cobra.NoArgs}
	l := newListing(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		hub, err := o.readHub(c)
		if err != nil {
			return err
		}
		members := &v1alpha1.MemberClusterList{}
		if err := hub.List(c.Context(), members); err != nil {
			return cluster.Explain(hub.Context, hub.Config.Host, err)
		}
		sortMembers(members.Items)
		return l.print(o, members, func() *metav1.Table { return memberTable(members.Items, o.times()) }, listDrops...)
	}
	return c
}

func sortMembers(members []v1alpha1.MemberCluster) {
	slices.SortStableFunc(members, func(a, b v1alpha1.MemberCluster) int {
		return cmp.Or(notReadyFirst(a.Status.Conditions)-notReadyFirst(b.Status.Conditions), cmp.Compare(a.Name, b.Name))
	})
}

// listDrops are the columns that a narrow terminal does not show, the least important first.
var listDrops = []string{"Kubernetes", "Age", "VMs", "Groups"}

func memberTable(members []v1alpha1.MemberCluster, times term.Times) *metav1.Table {
	table := columns("Name", "Ready", "Reason", "Groups", "VMs", "Ready-VMs", "Credential", "Kubernetes", "Age")
	for i := range members {
		mc := &members[i]
		ready, reason := "Unknown", ""
		if c := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady); c != nil {
			ready, reason = string(c.Status), c.Reason
		}
		table.Rows = append(table.Rows, metav1.TableRow{
			Cells: []any{
				mc.Name, ready, reason, int64(mc.Status.Groups), int64(mc.Status.VMs), int64(mc.Status.ReadyVMs), credentialOf(mc, times),
				untrusted.Text(mc.Status.KubernetesVersion, 20), times.Age(mc.CreationTimestamp.Time),
			},
		})
	}
	return table
}

// credentialOf says for how long the credentials are valid: until the first of them expires.
func credentialOf(mc *v1alpha1.MemberCluster, times term.Times) string {
	if c := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionCredentialsValid); c != nil && c.Status == metav1.ConditionFalse {
		return c.Reason
	}
	first := firstExpiry(mc)
	switch {
	case first.IsZero():
		return "<unknown>"
	case !first.After(times.Now):
		return v1alpha1.ReasonCredentialsExpired
	}
	return times.Until(first)
}

func firstExpiry(mc *v1alpha1.MemberCluster) (first time.Time) {
	if mc.Status.Credentials == nil {
		return first
	}
	for _, c := range []*v1alpha1.MemberCredential{mc.Status.Credentials.Member, mc.Status.Credentials.Bootstrap} {
		if c != nil && c.ExpirationTime != nil && (first.IsZero() || c.ExpirationTime.Time.Before(first)) {
			first = c.ExpirationTime.Time
		}
	}
	return first
}
