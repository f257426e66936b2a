package cli

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/term"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

func vcenterCommand(o *Options) *cobra.Command {
	parent := family("vcenter", "List and check VCenters")
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the VCenters of the hub, those that are not ready first", Args: cobra.NoArgs,
		Long: "NOT-READY is the number of VmGroups of the VCenter that are not ready, and OLDEST for how long the first of them has not been.",
	}
	l := newListing(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		hub, err := o.readHub(c)
		if err != nil {
			return err
		}
		vcenters := &v1alpha1.VCenterList{}
		if err := hub.List(c.Context(), vcenters); err != nil {
			return cluster.Explain(hub.Context, hub.Config.Host, err)
		}
		slices.SortStableFunc(vcenters.Items, func(a, b v1alpha1.VCenter) int {
			return cmp.Or(notReadyFirst(a.Status.Conditions)-notReadyFirst(b.Status.Conditions), cmp.Compare(a.Name, b.Name))
		})
		return l.print(o, vcenters, func() *metav1.Table { return vcenterTable(vcenters.Items, o.times()) }, vcenterDrops...)
	}
	parent.AddCommand(c, vcenterCheckCommand(o))
	return parent
}

// notReadyFirst orders objects: those that a person must check come first.
func notReadyFirst(conditions []metav1.Condition) int {
	if meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady) {
		return 1
	}
	return 0
}

// vcenterDrops are the columns that a narrow terminal does not show, the least important first.
var vcenterDrops = []string{"Age", "Version", "Templates", "Oldest"}

func vcenterTable(vcenters []v1alpha1.VCenter, times term.Times) *metav1.Table {
	table := columns("Name", "Ready", "Reason", "Tasks", "VMs", "Not-Ready", "Oldest", "Templates", "Version", "Age")
	for i := range vcenters {
		vc := &vcenters[i]
		ready, reason := "Unknown", ""
		if c := meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionReady); c != nil {
			ready, reason = string(c.Status), untrusted.Text(c.Reason, 60)
		}
		groups, oldest := int64(0), ""
		if n := vc.Status.NotReady; n != nil {
			groups = int64(n.Groups)
			if n.Oldest != nil {
				oldest = times.Age(n.Oldest.Time)
			}
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{
			vc.Name, ready, reason, int64(vc.Status.RunningTasks), fmt.Sprintf("%d/%d", vc.Status.ReadyVMs, vc.Status.DesiredVMs), groups, oldest, int64(vc.Status.Templates),
			untrusted.Text(vc.Status.Version, 30), times.Age(vc.CreationTimestamp.Time),
		}})
	}
	return table
}
