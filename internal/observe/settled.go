package observe

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// ReceiptSettled reports whether certainly none of the VMs of a receipt is left: each was deleted, or has neither the stamp nor the release mark of the group
// any more. It reads memory. If the vCenter is unreachable, another one, or not completely known, the result is false.
func (o *Sources) ReceiptSettled(ctx context.Context, receipt receipts.Receipt) bool {
	var vcenter v1alpha1.VCenter
	if err := o.Hub.Get(ctx, types.NamespacedName{Name: receipt.VCenter}, &vcenter); err != nil {
		return false
	}
	server, ok := o.Servers.Server(receipt.VCenter)
	if !ok || !server.Health().Reachable {
		return false
	}
	id := vsphere.GroupID{Installation: o.Installation, Member: receipt.MemberUID, Group: receipt.GroupUID}
	query := vsphere.Query{ID: id}
	if receipt.Folder.MoRef != "" {
		query.Folder = vsphere.FolderRef(receipt.Folder.MoRef)
	}
	for _, vm := range receipt.VMs {
		if vm.MoRef != "" {
			query.Record(vsphere.VMRef(vm.MoRef), vm.UUID)
		}
	}
	seen := server.Observe(query)
	switch {
	case !seen.Complete, receipt.InstanceUUID != "" && seen.InstanceUUID != receipt.InstanceUUID:
		return false
	case seen.Undetermined(), len(seen.Released)+len(seen.Elsewhere)+len(seen.InFlight) > 0:
		return false
	case slices.ContainsFunc(seen.VMs, func(vm vsphere.VM) bool { return vm.Stamp != nil && vm.Stamp.SameGroup(id) }):
		return false
	}
	return !slices.ContainsFunc(query.Known, func(ref vsphere.Ref) bool {
		another := slices.ContainsFunc(seen.VMs, func(vm vsphere.VM) bool { return vm.Ref == ref })
		return !another && !slices.Contains(seen.Gone, ref) && !slices.Contains(seen.Others, ref)
	})
}
