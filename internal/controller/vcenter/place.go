package vcenter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// withoutOthersRoot ignores the previous root folder if the status of another VCenter has it, too. Status can have been copied or edited, and
// the VMs in the folder carry this installation's stamp in both cases.
func (r *Reconciler) withoutOthersRoot(ctx context.Context, vc *v1alpha1.VCenter, config *Config) error {
	if config.Root == nil {
		return nil
	}
	var all v1alpha1.VCenterList
	if err := r.Client.List(ctx, &all); err != nil {
		return fmt.Errorf("list the VCenters: %w", err)
	}
	for i := range all.Items {
		other := all.Items[i].Status.Root
		if all.Items[i].Name != vc.Name && other != nil && other.MoRef == config.Root.MoRef && other.InstanceUUID == config.Root.InstanceUUID {
			config.Root = nil
			return nil
		}
	}
	return nil
}

// placeNotice returns the condition that describes how to make the root folder found by name.
func placeNotice(p vsphere.PlaceProblem) notice {
	reason := map[vsphere.PlaceProblemKind]string{
		vsphere.DatacenterUnclear: v1alpha1.ReasonDatacenterUnclear,
		vsphere.RootRenamed:       v1alpha1.ReasonRootFolderRenamed,
		vsphere.VMsElsewhere:      v1alpha1.ReasonVMsElsewhere,
	}[p.Kind]
	return notice{reason, p.Message}
}

// tellNeighbors sets in a VCenter's status which other VCenters use the same place. Status reports this instead of a webhook, because only users
// with read access to VCenters must see the server of others.
func (r *Reconciler) tellNeighbors(ctx context.Context, vc *v1alpha1.VCenter, next *v1alpha1.VCenterStatus) error {
	var all v1alpha1.VCenterList
	if err := r.Client.List(ctx, &all); err != nil {
		return fmt.Errorf("list the VCenters: %w", err)
	}
	setNeighbors(next, vc, neighborsOf(vc, all.Items), r.Now())
	return nil
}

// neighborsOf returns the names of the other VCenters with the same place, sorted. It does not compare a server from a Secret.
func neighborsOf(vc *v1alpha1.VCenter, all []v1alpha1.VCenter) []string {
	place := vc.Spec.Place()
	if place.Host == "" {
		return nil
	}
	var names []string
	for i := range all {
		if all[i].Name != vc.Name && all[i].Spec.Place() == place {
			names = append(names, all[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

func setNeighbors(s *v1alpha1.VCenterStatus, vc *v1alpha1.VCenter, names []string, now time.Time) {
	if len(names) == 0 {
		meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionSharedPlace)
		return
	}
	apply(s, vc.Generation, now, []condition{{v1alpha1.ConditionSharedPlace, metav1.ConditionTrue, v1alpha1.ReasonSamePlace, fmt.Sprintf(
		"VCenter %s has the same server, datacenter and folder. Two that share a folder report each other's VMs as orphans: give one another spec.folder, or delete it",
		strings.Join(names, ", "))}})
}
