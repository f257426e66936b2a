package vsphere

// Privileges that a change of a VM needs on the VM, as vSphere names them, each for its part of the change.
const (
	PrivilegeCPUs        = "VirtualMachine.Config.CPUCount"
	PrivilegeMemory      = "VirtualMachine.Config.Memory"
	PrivilegeExtraConfig = "VirtualMachine.Config.AdvancedConfig"
	// PrivilegeDevices is for the network of an adapter. An account without it serves all groups that name no network.
	PrivilegeDevices = "VirtualMachine.Config.EditDevice"
	// PrivilegeNotes is for CloneRequest.Note. An account without it makes VMs without notes.
	PrivilegeNotes = "VirtualMachine.Config.Annotation"
	// PrivilegeVApp is for clones that cloud-init configures, of templates with vApp properties.
	PrivilegeVApp = "VApp.ApplicationConfig"
	// PrivilegeCrypto is for clones of encrypted templates.
	PrivilegeCrypto = "Cryptographer.Clone"
	// PrivilegeRead comes with every role. An account lacks it on an object where it has none.
	PrivilegeRead = "System.Read"
)
