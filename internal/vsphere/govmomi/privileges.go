package govmomi

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/privileges"
)

// neededPrivileges are those that the operator uses on its root folder. What it needs on templates, pools, datastores
// and networks is told by the errors of the clone itself. What only some groups need is not among them: a vCenter
// without it is of use to all others, and those groups are told by the errors of their calls.
var neededPrivileges = privileges.On(privileges.RootFolder, privileges.Always)

// changePrivileges are those that changes of VMs need. Groups are told of them before a VM is stopped to be changed.
var changePrivileges = []string{vsphere.PrivilegeExtraConfig, vsphere.PrivilegeCPUs, vsphere.PrivilegeDevices, vsphere.PrivilegeMemory}

// rootPrivileges are what the account needs on the vCenter's root object, on which vCenter checks privileges for what
// is no part of the inventory: recent tasks, the outcome of a task whose VM is gone, and in some versions every page of
// a listing but the first.
var rootPrivileges = privileges.On(privileges.Root, privileges.Always)

// onRoot says what to do where vCenter refuses something without a permission on its root object. Another error stays as it is.
func onRoot(op string, c *vim25.Client, err error) error {
	refused, ok := is[*types.NoPermission](err)
	if !ok {
		return err
	}
	root := fromRef(c.ServiceContent.RootFolder)
	return &vsphere.Error{
		Kind: vsphere.KindPermission, Op: op, Object: root, Privilege: refused.PrivilegeId,
		Err: fmt.Errorf("it needs %s on the vCenter's root object (/, %s); grant the role Read-only there, without propagation: %w",
			refused.PrivilegeId, root.Value, inWords(err)),
	}
}

// granted is what the account has on the root folder.
type granted struct {
	// missing is what the operator needs there, lacks what changes of VMs need, and the account does not have, each sorted. What it lacks on the vCenter's root
	// object follows in missing.
	missing, lacks []string
	// notes is true if it may write notes into VMs.
	notes bool
	// noPlacing is true once vCenter has refused to power on a VM through the datacenter.
	noPlacing bool
}

// readPrivileges asks what the account has on the root folder. A server that does not answer the question is taken to grant all that is needed: the first
// refused call will tell.
func readPrivileges(ctx context.Context, c *connection) (p granted) {
	manager := c.client.ServiceContent.AuthorizationManager
	if manager == nil {
		return p
	}
	folder, top := toRef(c.root.Ref), c.client.ServiceContent.RootFolder
	resp, err := methods.FetchUserPrivilegeOnEntities(ctx, c.client, &types.FetchUserPrivilegeOnEntities{
		This: *manager, Entities: []types.ManagedObjectReference{folder, top}, UserName: c.session.User(),
	})
	if err != nil {
		return p
	}
	for _, on := range resp.Returnval {
		lacking := func(all []string) []string {
			return slices.DeleteFunc(slices.Clone(all), func(p string) bool { return slices.Contains(on.Privileges, p) })
		}
		switch on.Entity {
		case folder:
			p.missing, p.lacks, p.notes = append(lacking(neededPrivileges), p.missing...), lacking(changePrivileges), slices.Contains(on.Privileges, vsphere.PrivilegeNotes)
		case top:
			for _, privilege := range lacking(rootPrivileges) {
				p.missing = append(p.missing, privilege+" on the vCenter's root object (/)")
			}
		}
	}
	return p
}
