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

// neededPrivileges are the privileges that the operator uses on its root folder. Errors of a clone report the missing privileges on templates, pools,
// datastores and networks. Privileges that only some groups need are excluded: a vCenter without them still serves all other groups, and the errors of the
// calls inform the affected groups.
var neededPrivileges = privileges.On(privileges.RootFolder, privileges.Always)

// changePrivileges are the privileges for changes of VMs. Groups see which are missing before a VM is stopped for a change.
var changePrivileges = []string{vsphere.PrivilegeExtraConfig, vsphere.PrivilegeCPUs, vsphere.PrivilegeDisks, vsphere.PrivilegeDevices, vsphere.PrivilegeMemory}

// rootPrivileges are needed on the vCenter's root object. vCenter checks privileges there for objects outside of the inventory: recent tasks, the result of
// a task whose VM was deleted, and in some versions every page of a listing except the first.
var rootPrivileges = privileges.On(privileges.Root, privileges.Always)

// onRoot adds the remedy to a refusal for a missing permission on the root object. It returns other errors unchanged.
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

// granted holds the account's privileges on the root folder.
type granted struct {
	// missing are the needed privileges that the account lacks, and lacks those for changes of VMs, each sorted. Those missing on the vCenter's root object are
	// at the end of missing.
	missing, lacks []string
	// notes is true if the account can write notes into VMs.
	notes bool
	// noPlacing is true after vCenter refused to power on a VM through the datacenter.
	noPlacing bool
}

// readPrivileges reads the account's privileges on the root folder. If the server does not answer, it assumes that all are granted: the first refused call
// then reports the problem.
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

// changeNeeds returns the privileges that a change of a VM can need, beside those that the operator always needs.
func changeNeeds(t vsphere.Reconfiguration, vm vsphere.VM) (needed []string) {
	for privilege, is := range map[string]bool{
		vsphere.PrivilegeExtraConfig: t.Revision != "", vsphere.PrivilegeCPUs: t.CPU != 0 || t.CoresPerSocket != 0, vsphere.PrivilegeMemory: t.MemoryMiB != 0,
		vsphere.PrivilegeDisks: t.RootDiskGiB != 0 || vm.DataDisks.Growing(t.DataDisks) != nil, vsphere.PrivilegeDevices: !t.Network.IsZero(),
	} {
		if is {
			needed = append(needed, privilege)
		}
	}
	slices.Sort(needed)
	return needed
}

// missingOn returns a privilege that the account lacks on a VM, or "". It returns "" if the server does not answer: the call that needs it reports the problem.
func missingOn(ctx context.Context, c *connection, vm vsphere.Ref, needed []string) string {
	manager := c.client.ServiceContent.AuthorizationManager
	if manager == nil {
		return ""
	}
	resp, err := methods.FetchUserPrivilegeOnEntities(ctx, c.client, &types.FetchUserPrivilegeOnEntities{
		This: *manager, Entities: []types.ManagedObjectReference{toRef(vm)}, UserName: c.session.User(),
	})
	if err != nil || len(resp.Returnval) != 1 {
		return ""
	}
	for _, privilege := range needed {
		if !slices.Contains(resp.Returnval[0].Privileges, privilege) {
			return privilege
		}
	}
	return ""
}
