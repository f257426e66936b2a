package cli

import (
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

// deletion begins the sentence about a confirmation.
const deletion = "The deletion"

func confirmCommand(o *Options) *cobra.Command {
	c := family("confirm", "Confirm deletions")
	groups := groupVerb{
		use: "vmgroup [NAME...]", short: "Confirm the deletion of VmGroups, or the removal of their VMs", undoable: true,
		long: `Sets annotation confirm-deletion with the UID of the VmGroup. Where many VMs of a member are being removed, the operator holds VmGroups until that.
The confirmation does not count for another VmGroup of the same name.`,
		step: func(_ *cluster.Cluster, g *v1alpha1.VmGroup) step {
			return confirmed(g, resourceGroup, "The removal of VMs")
		},
	}.command(o)
	namespaces := confirmObjects(o, "namespace NAME...", "Confirm the removal of the VMs of all VmGroups in namespaces", false, func(c *cobra.Command, in *cluster.Cluster, name string) (step, error) {
		object, err := find(c.Context(), in, kinds[resourceNamespace], name, &corev1.Namespace{})
		return confirmed(object, resourceNamespace, "The removal of the VMs of all VmGroups"), err
	})
	definition := confirmObjects(o, "crd", "Confirm the deletion of the CRD of VmGroups, which removes all VMs of a member", false, func(c *cobra.Command, in *cluster.Cluster, _ string) (step, error) {
		object, err := find[client.Object](c.Context(), in, kinds[resourceCRD], crd.VmGroupCRD().Name, &apiextensionsv1.CustomResourceDefinition{})
		return confirmed(object, resourceCRD, deletion), err
	})
	definition.Args = cobra.NoArgs
	members := confirmObjects(o, "member NAME...", "Confirm the deletion of MemberClusters", true, func(c *cobra.Command, in *cluster.Cluster, name string) (step, error) {
		object, err := find(c.Context(), in, kinds[resourceMember], name, &v1alpha1.MemberCluster{})
		return confirmed(object, resourceMember, deletion), err
	})
	vcenters := confirmObjects(o, "vcenter NAME...", "Confirm the deletion of VCenters", true, func(c *cobra.Command, in *cluster.Cluster, name string) (step, error) {
		object, err := find(c.Context(), in, kinds[resourceVCenter], name, &v1alpha1.VCenter{})
		return confirmed(object, resourceVCenter, deletion), err
	})
	c.AddCommand(groups, namespaces, definition, members, vcenters)
	return c
}

// confirmObjects confirms the deletion of objects of the hub, or of the member.
func confirmObjects(o *Options, use, short string, onHub bool, read func(c *cobra.Command, in *cluster.Cluster, name string) (step, error)) *cobra.Command {
	i := &intervention{Options: o}
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, names []string) error {
			in, err := i.open(c, onHub)
			if err != nil {
				return err
			}
			if len(names) == 0 {
				names = []string{""}
			}
			var all []step
			for _, name := range names {
				s, err := read(c, in, name)
				if err != nil {
					return err
				}
				all = append(all, s)
			}
			return i.carryOut(c.Context(), in, all...)
		},
	}
	i.add(c, true)
	return c
}

// open opens the hub, or the cluster of the current context.
func (i *intervention) open(c *cobra.Command, onHub bool) (*cluster.Cluster, error) {
	if onHub {
		return i.onHub(c)
	}
	in, _, err := i.here(c.Context())
	return in, err
}
