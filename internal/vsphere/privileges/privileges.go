// Package privileges lists what the operator's account needs in vCenter. The documentation, the role of the simulated
// account, the check of a vCenter and the operator's own check at connection time all use this list.
package privileges

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Object is the kind of object on which a privilege is needed.
type Object string

// Objects, from the top of the inventory down.
const (
	// Root is the vCenter itself (/). vCenter checks privileges there for objects outside of the inventory: sessions,
	// recent tasks, events.
	Root       Object = "Root"
	Datacenter Object = "Datacenter"
	// Cluster is the cluster of the resource pool, or the host if there is no cluster.
	Cluster      Object = "Cluster"
	ResourcePool Object = "ResourcePool"
	// RootFolder is spec.folder of the VCenter, or the folder in which it is created.
	RootFolder Object = "RootFolder"
	Template   Object = "Template"
	Datastore  Object = "Datastore"
	Network    Object = "Network"
	// Switch is the distributed switch of a port group.
	Switch Object = "Switch"
	// LegacyFolder is one of spec.legacyFolders of the VCenter.
	LegacyFolder Object = "LegacyFolder"
)

// words are the objects' names for users.
var words = map[Object]string{
	Root: "the vCenter itself (`/`)", Datacenter: "the datacenter", Cluster: "the cluster of the resource pool", ResourcePool: "the resource pool",
	RootFolder: "the root folder", Template: "the templates", Datastore: "the datastores", Network: "the networks",
	Switch: "the distributed switches", LegacyFolder: "the folders in `legacyFolders`",
}

// Words returns the object's name for users, in Markdown.
func (o Object) Words() string { return words[o] }

// Conditions under which a privilege is needed. They complete a sentence that begins with "if".
const (
	Always      = ""
	ForDisks    = "a VmGroup sets disk sizes"
	ForNetworks = "a VmGroup, or the VCenter as its default, names a network"
	ForSwitches = "a network is a port group of a distributed switch"
	ForVApp     = "VMs of a template with vApp properties, as after the deployment of an OVA, get user data or metadata"
	ForCrypto   = "a template is encrypted, as each one with a virtual TPM"
	ForAdoption = "VMs are adopted"
	ForLegacy   = "VMs of the original operator are adopted"
	ForDRS      = "VMs are in a cluster with DRS, and the account has its role on the root folder instead of the datacenter"
	ForNotes    = "the notes of new VMs are to name VmGroup, namespace and member"
	ForSessions = "logins of killed replicas are to end within seconds"
)

// Privilege is a privilege that the account needs on one kind of object.
type Privilege struct {
	// ID is the privilege's name in the API.
	ID string
	// UIName is the privilege's path in the vSphere Client's list of privileges.
	UIName string
	Object Object
	// Needed is the condition under which the privilege is needed, in words. Empty means always.
	Needed string
	// Optional is true if nothing fails without the privilege. The operator then omits what Needed describes.
	Optional bool
}

// readOnly has no line in the vSphere Client's list of privileges: every role includes it.
const readOnly = "role Read-only"

// Prefixes of the vSphere Client's names.
const (
	change      = "Virtual machine > Change Configuration > "
	inventory   = "Virtual machine > Edit Inventory > "
	interaction = "Virtual machine > Interaction > "
)

var all = []Privilege{
	{ID: vsphere.PrivilegeRead, UIName: readOnly, Object: Root},
	{ID: vsphere.PrivilegeSessions, UIName: "Sessions > View and stop sessions", Object: Root, Needed: ForSessions, Optional: true},
	{ID: vsphere.PrivilegeRead, UIName: readOnly, Object: Datacenter},
	{ID: "VirtualMachine.Interact.PowerOn", UIName: interaction + "Power on", Object: Datacenter, Needed: ForDRS, Optional: true},
	{ID: vsphere.PrivilegeRead, UIName: readOnly, Object: Cluster},
	{ID: "Resource.AssignVMToPool", UIName: "Resource > Assign virtual machine to resource pool", Object: ResourcePool},
	{ID: "Folder.Create", UIName: "Folder > Create folder", Object: RootFolder},
	{ID: "Folder.Delete", UIName: "Folder > Delete folder", Object: RootFolder},
	{ID: "VirtualMachine.Config.AddNewDisk", UIName: change + "Add new disk", Object: RootFolder},
	{ID: vsphere.PrivilegeExtraConfig, UIName: change + "Advanced configuration", Object: RootFolder},
	{ID: vsphere.PrivilegeCPUs, UIName: change + "Change CPU count", Object: RootFolder},
	{ID: vsphere.PrivilegeMemory, UIName: change + "Change Memory", Object: RootFolder},
	{ID: "VirtualMachine.Config.Settings", UIName: change + "Change Settings", Object: RootFolder},
	{ID: "VirtualMachine.Interact.PowerOff", UIName: interaction + "Power off", Object: RootFolder},
	{ID: "VirtualMachine.Interact.PowerOn", UIName: interaction + "Power on", Object: RootFolder},
	{ID: "VirtualMachine.Inventory.CreateFromExisting", UIName: inventory + "Create from existing", Object: RootFolder},
	{ID: "VirtualMachine.Inventory.Delete", UIName: inventory + "Remove", Object: RootFolder},
	{ID: vsphere.PrivilegeDevices, UIName: change + "Modify device settings", Object: RootFolder, Needed: ForNetworks},
	{ID: vsphere.PrivilegeDisks, UIName: change + "Extend virtual disk", Object: RootFolder, Needed: ForDisks},
	{ID: vsphere.PrivilegeVApp, UIName: "vApp > vApp application configuration", Object: RootFolder, Needed: ForVApp},
	{ID: vsphere.PrivilegeNotes, UIName: change + "Set annotation", Object: RootFolder, Needed: ForNotes, Optional: true},
	{ID: "VirtualMachine.Config.Rename", UIName: change + "Rename", Object: RootFolder, Needed: ForAdoption},
	{ID: "VirtualMachine.Inventory.Move", UIName: inventory + "Move", Object: RootFolder, Needed: ForAdoption},
	{ID: "VirtualMachine.Provisioning.DeployTemplate", UIName: "Virtual machine > Provisioning > Deploy template", Object: Template},
	{ID: vsphere.PrivilegeCrypto, UIName: "Cryptographic operations > Clone", Object: Template, Needed: ForCrypto},
	{ID: "Datastore.AllocateSpace", UIName: "Datastore > Allocate space", Object: Datastore},
	{ID: "Network.Assign", UIName: "Network > Assign network", Object: Network},
	{ID: vsphere.PrivilegeRead, UIName: readOnly, Object: Switch, Needed: ForSwitches},
	{ID: vsphere.PrivilegeExtraConfig, UIName: change + "Advanced configuration", Object: LegacyFolder, Needed: ForLegacy},
	{ID: "VirtualMachine.Inventory.Move", UIName: inventory + "Move", Object: LegacyFolder, Needed: ForLegacy},
}

// All returns the list: objects from the top of the inventory down, with the always needed privileges of each object
// first.
func All() []Privilege { return slices.Clone(all) }

// On returns the IDs of the privileges needed on a kind of object under a condition, sorted.
func On(object Object, needed string) []string {
	return ids(func(p Privilege) bool { return p.Object == object && p.Needed == needed })
}

// For returns the IDs that a role needs under a condition, sorted, without those that every role includes.
func For(needed string) []string {
	return ids(func(p Privilege) bool { return p.Needed == needed && p.ID != vsphere.PrivilegeRead })
}

func ids(wanted func(Privilege) bool) []string {
	var out []string
	for _, p := range all {
		if wanted(p) {
			out = append(out, p.ID)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
