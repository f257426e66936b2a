package sim

import (
	"reflect"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// need is a privilege on an object.
type need struct {
	privilege string
	on        types.ManagedObjectReference
}

// Privileges that only some templates need, or that the operator never needs.
const (
	vApp   = "VApp.ApplicationConfig"
	notes  = "VirtualMachine.Config.Annotation"
	crypto = "Cryptographer.Clone"
)

const powerOn = "VirtualMachine.Interact.PowerOn"

// undocumented precedes the name of a method or property whose privilege is not known here.
const undocumented = "Undocumented."

// readOnly are methods that change only the session's own views, collectors and filters.
var readOnly = map[string]bool{
	"Login": true, "Logout": true, "CurrentTime": true, "RetrieveServiceContent": true,
	"RetrieveProperties": true, "RetrievePropertiesEx": true, "ContinueRetrievePropertiesEx": true,
	"CancelRetrievePropertiesEx": true, "CreatePropertyCollector": true, "DestroyPropertyCollector": true,
	"CreateFilter": true, "DestroyPropertyFilter": true, "WaitForUpdatesEx": true, "CancelWaitForUpdates": true,
	"CreateContainerView": true, "CreateListView": true, "ModifyListView": true, "DestroyView": true,
	"FindByInventoryPath": true, "FindChild": true, "FindByUuid": true, "FindAllByUuid": true,
	"HasPrivilegeOnEntity": true, "HasPrivilegeOnEntities": true, "HasUserPrivilegeOnEntities": true,
	"FetchUserPrivilegeOnEntities": true,
}

// needed maps methods to the privilege on their object: "Required privileges" in the API reference.
var needed = map[string]string{
	"CancelTask":              "Global.CancelTask",
	"CreateFolder":            "Folder.Create",
	"CreateSnapshot_Task":     "VirtualMachine.State.CreateSnapshot",
	"CreateSnapshotEx_Task":   "VirtualMachine.State.CreateSnapshot",
	"CreateVM_Task":           "VirtualMachine.Inventory.Create",
	"CustomizeVM_Task":        "VirtualMachine.Provisioning.Customize",
	"MarkAsTemplate":          "VirtualMachine.Provisioning.MarkAsTemplate",
	"MarkAsVirtualMachine":    "VirtualMachine.Provisioning.MarkAsVM",
	"MigrateVM_Task":          "Resource.HotMigrate",
	"PowerOffVM_Task":         "VirtualMachine.Interact.PowerOff",
	"PowerOnVM_Task":          powerOn,
	"QueryEvents":             "System.View",
	"RebootGuest":             "VirtualMachine.Interact.Reset",
	"RegisterVM_Task":         "VirtualMachine.Inventory.Register",
	"RelocateVM_Task":         "Resource.ColdMigrate",
	"RemoveAllSnapshots_Task": "VirtualMachine.State.RemoveSnapshot",
	"RemoveSnapshot_Task":     "VirtualMachine.State.RemoveSnapshot",
	"ResetVM_Task":            "VirtualMachine.Interact.Reset",
	"RevertToSnapshot_Task":   "VirtualMachine.State.RevertToSnapshot",
	"SessionIsActive":         "Sessions.ValidateSession",
	"SetCustomValue":          "Global.SetCustomField",
	"ShutdownGuest":           "VirtualMachine.Interact.PowerOff",
	"StandbyGuest":            "VirtualMachine.Interact.Suspend",
	"SuspendVM_Task":          "VirtualMachine.Interact.Suspend",
	"TerminateSession":        "Sessions.TerminateSession",
	"UnregisterVM":            "VirtualMachine.Inventory.Unregister",
}

// needs returns the privileges of a call, in the order of the checks.
func needs(ctx *simulator.Context, m *simulator.Method) []need {
	this := func(privilege string) []need { return []need{{privilege, m.This}} }
	switch req := m.Body.(type) {
	case *types.CloneVM_Task:
		return cloneNeeds(ctx, req)
	case *types.ReconfigVM_Task:
		return configNeeds(&req.Spec, req.This)
	case *types.Destroy_Task:
		return destroyNeeds(ctx, req.This)
	case *types.Rename_Task:
		if req.This.Type == "VirtualMachine" {
			return this("VirtualMachine.Config.Rename")
		}
		return this(req.This.Type + ".Rename")
	case *types.CancelTask:
		if startedBy(ctx, req.This) {
			return nil
		}
	case *types.PowerOnMultiVM_Task:
		// The API reference requires the privilege only on the VMs. VMware's table "Required Privileges for Common Tasks" also requires it on the
		// datacenter.
		out := this(powerOn)
		for _, ref := range req.Vm {
			out = append(out, need{powerOn, ref})
		}
		return out
	case *types.MoveIntoFolder_Task:
		var out []need
		for _, ref := range req.List {
			if ref.Type == "VirtualMachine" {
				out = append(out, need{"VirtualMachine.Inventory.Move", ref}, need{"VirtualMachine.Inventory.Move", req.This})
			} else {
				out = append(out, need{ref.Type + ".Move", ref}, need{ref.Type + ".Move", req.This})
			}
		}
		return out
	}
	if privilege, ok := needed[m.Name]; ok {
		return this(privilege)
	}
	return this(undocumented + m.Name)
}

// startedBy reports whether the calling account started a task. Every account can cancel its own tasks.
func startedBy(ctx *simulator.Context, ref types.ManagedObjectReference) bool {
	task, ok := ctx.Map.Get(ref).(*simulator.Task)
	if !ok {
		return false
	}
	reason, ok := task.Info.Reason.(*types.TaskReasonUser)
	return ok && ctx.Session != nil && reason.UserName == ctx.Session.UserName
}

// destroyNeeds are privileges on the object "as well as its parent". For a folder, they include those on the VMs in it, with the folder as their
// parent.
func destroyNeeds(ctx *simulator.Context, ref types.ManagedObjectReference) []need {
	switch object := ctx.Map.Get(ref).(type) {
	case *simulator.VirtualMachine:
		return withParent(need{"VirtualMachine.Inventory.Delete", ref}, object)
	case *simulator.Folder:
		out := withParent(need{"Folder.Delete", ref}, object)
		for _, child := range children(ctx, object) {
			out = append(out, destroyNeeds(ctx, child)...)
		}
		return out
	}
	return []need{{undocumented + "Destroy_Task", ref}}
}

func withParent(n need, e mo.Entity) []need {
	if parent := e.Entity().Parent; parent != nil {
		return []need{n, {n.privilege, *parent}}
	}
	return []need{n}
}

func cloneNeeds(ctx *simulator.Context, req *types.CloneVM_Task) []need {
	location := req.Spec.Location
	folder := req.Folder
	if location.Folder != nil {
		folder = *location.Folder
	}
	// The API reference does not list the second privilege. VMware's table "Required Privileges for Common Tasks" does.
	out := []need{{"VirtualMachine.Inventory.CreateFromExisting", folder}, {"VirtualMachine.Config.AddNewDisk", folder}}
	source, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return out
	}
	template := source.Config.Template
	switch {
	case template && req.Spec.Template:
		out = append(out, need{"VirtualMachine.Provisioning.CloneTemplate", req.This})
	case template:
		out = append(out, need{"VirtualMachine.Provisioning.DeployTemplate", req.This})
	case req.Spec.Template:
		out = append(out, need{"VirtualMachine.Provisioning.CreateTemplateFromVM", req.This})
	default:
		out = append(out, need{"VirtualMachine.Provisioning.Clone", req.This})
	}
	if hasTPM(source) {
		out = append(out, need{crypto, req.This})
	}
	if location.Pool != nil {
		out = append(out, need{"Resource.AssignVMToPool", *location.Pool})
	}
	datastores := source.Datastore
	if location.Datastore != nil {
		datastores = []types.ManagedObjectReference{*location.Datastore}
	}
	for _, ref := range datastores {
		out = append(out, need{"Datastore.AllocateSpace", ref})
	}
	if req.Spec.Customization != nil {
		out = append(out, need{"VirtualMachine.Provisioning.Customize", req.This})
	}
	if req.Spec.PowerOn {
		out = append(out, need{powerOn, folder})
	}
	out = append(out, deviceNeeds(location.DeviceChange, folder)...)
	if req.Spec.Config != nil {
		out = append(out, configNeeds(req.Spec.Config, folder)...)
	}
	return out
}

// deviceNeeds are the privileges for changes to devices. A network adapter also needs a privilege on its network.
func deviceNeeds(changes []types.BaseVirtualDeviceConfigSpec, on types.ManagedObjectReference) (out []need) {
	for _, c := range changes {
		change := c.GetVirtualDeviceConfigSpec()
		if _, isDisk := change.Device.(*types.VirtualDisk); isDisk {
			out = append(out, need{diskNeed(change), on})
			continue
		}
		card, isCard := change.Device.(types.BaseVirtualEthernetCard)
		if change.Operation == types.VirtualDeviceConfigSpecOperationEdit && isCard {
			out = append(out, need{"VirtualMachine.Config.EditDevice", on})
		} else {
			out = append(out, need{"VirtualMachine.Config.AddRemoveDevice", on})
		}
		if !isCard {
			continue
		}
		switch backing := card.GetVirtualEthernetCard().Backing.(type) {
		case *types.VirtualEthernetCardNetworkBackingInfo:
			network := on
			if backing.Network != nil {
				network = *backing.Network
			}
			out = append(out, need{"Network.Assign", network})
		case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
			network := types.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: backing.Port.PortgroupKey}
			out = append(out, need{"Network.Assign", network})
		}
	}
	return out
}

// diskNeed is the privilege for a change to a disk.
func diskNeed(change *types.VirtualDeviceConfigSpec) string {
	switch {
	case change.Operation == types.VirtualDeviceConfigSpecOperationEdit:
		return "VirtualMachine.Config.DiskExtend"
	case change.Operation == types.VirtualDeviceConfigSpecOperationRemove:
		return "VirtualMachine.Config.RemoveDisk"
	case change.FileOperation == types.VirtualDeviceConfigSpecFileOperationCreate:
		return "VirtualMachine.Config.AddNewDisk"
	default:
		return "VirtualMachine.Config.AddExistingDisk"
	}
}

// configNeeds are the privileges for a configuration: "Reconfigure privilege" of each property in the API reference.
func configNeeds(spec *types.VirtualMachineConfigSpec, on types.ManagedObjectReference) (out []need) {
	rest := *spec
	require := func(set bool, privilege string) {
		if set {
			out = append(out, need{"VirtualMachine.Config." + privilege, on})
		}
	}
	require(rest.Name != "", "Rename")
	if rest.Annotation != "" {
		out = append(out, need{notes, on})
	}
	require(rest.Uuid != "" || rest.InstanceUuid != "", "Settings")
	require(rest.NumCPUs != 0 || rest.NumCoresPerSocket != nil || rest.CpuHotAddEnabled != nil || rest.CpuHotRemoveEnabled != nil, "CPUCount")
	require(rest.MemoryMB != 0 || rest.MemoryHotAddEnabled != nil, "Memory")
	require(rest.CpuAllocation != nil || rest.MemoryAllocation != nil, "Resource")
	require(len(rest.ExtraConfig) > 0, "AdvancedConfig")
	out = append(out, deviceNeeds(rest.DeviceChange, on)...)
	if rest.VAppConfig != nil || rest.VAppConfigRemoved != nil {
		out = append(out, need{vApp, on})
	}

	rest.ChangeVersion = ""
	rest.Name, rest.Annotation, rest.Uuid, rest.InstanceUuid = "", "", "", ""
	rest.NumCPUs, rest.NumCoresPerSocket, rest.CpuHotAddEnabled, rest.CpuHotRemoveEnabled = 0, nil, nil, nil
	rest.MemoryMB, rest.MemoryHotAddEnabled = 0, nil
	rest.CpuAllocation, rest.MemoryAllocation = nil, nil
	rest.ExtraConfig, rest.DeviceChange = nil, nil
	rest.VAppConfig, rest.VAppConfigRemoved = nil, nil
	left := reflect.ValueOf(rest)
	for i := range left.NumField() {
		if !left.Field(i).IsZero() {
			out = append(out, need{undocumented + left.Type().Field(i).Name, on})
		}
	}
	return out
}
