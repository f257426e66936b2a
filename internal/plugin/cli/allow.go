package cli

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/change"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

// longestAllowance is how far ahead an allowance can be.
const longestAllowance = time.Hour

// hubObject is the MemberCluster or the VCenter that a command changes.
type hubObject struct{ member, vcenter string }

// add adds the flags of the kinds that the command can change.
func (h *hubObject) add(c *cobra.Command, member, vcenter bool) {
	if member {
		c.Flags().StringVar(&h.member, "member", "", "MemberCluster.")
	}
	if vcenter {
		c.Flags().StringVar(&h.vcenter, "vcenter", "", "VCenter.")
	}
	switch {
	case member && vcenter:
		c.MarkFlagsOneRequired("member", "vcenter")
		c.MarkFlagsMutuallyExclusive("member", "vcenter")
	case member:
		_ = c.MarkFlagRequired("member")
	default:
		_ = c.MarkFlagRequired("vcenter")
	}
}

// change returns a change of the object.
func (h *hubObject) change(c *cobra.Command, hub *cluster.Cluster, key string) (change.Annotation, error) {
	of := change.Annotation{Object: &v1alpha1.MemberCluster{}, Resource: resourceMember, Key: key}
	if h.vcenter != "" {
		of.Object, of.Resource = &v1alpha1.VCenter{}, resourceVCenter
	}
	var err error
	of.Object, err = find[client.Object](c.Context(), hub, kinds[of.Resource], cmp.Or(h.vcenter, h.member), of.Object)
	return of, err
}

// allowances are the subcommands of allow.
var allowances = []struct {
	use, short, long, key, says string
	// vcenter: a VCenter can have the annotation, too.
	vcenter bool
}{
	{
		use: "mass-deletion", short: "Allow the removal of any number of VMs of a member for a while", key: v1alpha1.AllowMassDeletionAnnotation,
		says: "any number of its VMs can be removed",
	},
	{
		use: "adoption", short: "Allow VmGroups of a member to adopt VMs whose group vanished without a receipt", key: v1alpha1.AllowAdoptionAnnotation,
		says: "its VmGroups can adopt VMs whose group vanished without a receipt",
	},
	{
		use: "forget", short: "Allow annotation forget on the VmGroups of a vCenter that is permanently lost", key: v1alpha1.AllowForgetAnnotation, vcenter: true,
		long: "If the VCenter is deleted, name the MemberCluster of the VmGroups.", says: "annotation forget has an effect on its deleted VmGroups",
	},
	{
		use: "admitted", short: "Accept what status of a member's VmGroups reports as admitted, where the hub has no record", key: v1alpha1.AcceptAdmittedAnnotation,
		says: "the operator accepts status.admitted of its VmGroups without a record",
	},
}

func allowCommand(o *Options) *cobra.Command {
	parent := family("allow", "Allow for a while what the operator holds back")
	for _, a := range allowances {
		i, on, period := &intervention{Options: o}, &hubObject{}, time.Duration(0)
		c := &cobra.Command{
			Use: a.use, Short: a.short, Long: a.long, Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error {
				if period <= 0 || period > longestAllowance {
					return cluster.Usage("--for must be above 0 and at most 1h.")
				}
				hub, err := i.onHub(c)
				if err != nil {
					return err
				}
				of, err := on.change(c, hub, a.key)
				if err != nil {
					return err
				}
				facts, err := hub.Ask(c.Context(), o.Now)
				if err != nil {
					return err
				}
				// The operator compares the time with a clock near the API server, not with that of this computer.
				until := o.Now().Add(facts.Clock).Add(period).UTC()
				of.Value = until.Format(time.RFC3339)
				return i.carryOut(c.Context(), hub, step{Change: of, says: fmt.Sprintf("%s: %s until %s UTC.", titleOf(of.Object, of.Resource), a.says, until.Format("15:04:05"))})
			},
		}
		on.add(c, true, a.vcenter)
		c.Flags().DurationVar(&period, "for", 30*time.Minute, "For how long, at most 1h.")
		i.add(c, true)
		parent.AddCommand(c)
	}
	return parent
}

// acceptances are the subcommands of accept.
var acceptances = []struct {
	use, short, long, key, says string
	member, vcenter             bool
}{
	{
		use: "empty-inventory", short: "Accept that the root folder of a VCenter is empty", key: v1alpha1.AcceptEmptyAnnotation, vcenter: true,
		long: "Without it, the operator creates and deletes nothing there if VMs that it had seen are all missing.", says: "its root folder is accepted as empty",
	},
	{
		use: "instance UUID", short: "Accept that a vCenter was rebuilt, and has another instance UUID", key: v1alpha1.AcceptInstanceAnnotation, vcenter: true,
		long: "VmGroups whose VMs are not in that vCenter get new ones. The condition of the VmGroups has the UUID.", says: "instance %s is accepted",
	},
	{
		use: "cluster-uid UID", short: "Accept that a cluster is served under another name than before", key: v1alpha1.TakeClusterUIDAnnotation, member: true,
		long: "The condition of the MemberCluster has the UID.", says: "it takes over the cluster with UID %s",
	},
	{
		use: "predecessor UID", short: "Accept that another installation of the operator is permanently lost", key: v1alpha1.PredecessorAnnotation, member: true, vcenter: true,
		long: "This installation takes over the member, or the VMs in the vCenter, once the other one shows no sign of life.", says: "it is taken over from installation %s",
	},
}

func acceptCommand(o *Options) *cobra.Command {
	parent := family("accept", "Accept a change that the operator cannot judge")
	for _, a := range acceptances {
		i, on := &intervention{Options: o}, &hubObject{}
		c := &cobra.Command{
			Use: a.use, Short: a.short, Long: a.long, Args: cobra.MaximumNArgs(1),
			RunE: func(c *cobra.Command, args []string) error {
				named := a.key != v1alpha1.AcceptEmptyAnnotation
				switch {
				case named && len(args) == 0 && !i.undo, !named && len(args) > 0, len(args) > 0 && i.undo:
					return cluster.Usage("The usage is: %s", c.UseLine())
				case len(args) > 0 && !cluster.IsUID(args[0]):
					return cluster.Usage("%q is no UID.", args[0])
				}
				hub, err := i.onHub(c)
				if err != nil {
					return err
				}
				of, err := on.change(c, hub, a.key)
				if err != nil {
					return err
				}
				says := a.says
				if named && len(args) > 0 {
					of.Value, says = args[0], fmt.Sprintf(a.says, args[0])
				}
				if vc, ok := of.Object.(*v1alpha1.VCenter); ok && !named {
					if of.Value = vc.Status.InstanceUUID; of.Value == "" && !i.undo {
						return cluster.NotWell("%s has no instance UUID in status: the operator has not reached the vCenter yet.", titleOf(vc, resourceVCenter))
					}
				}
				return i.carryOut(c.Context(), hub, step{Change: of, says: titleOf(of.Object, of.Resource) + ": " + says + "."})
			},
		}
		on.add(c, a.member, a.vcenter)
		i.add(c, true)
		parent.AddCommand(c)
	}
	return parent
}
