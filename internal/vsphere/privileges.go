package vsphere

// Privileges that code names, as vSphere names them. Package privileges has the list of all that the account needs.
const (
	// The first four are for changes of VMs, each for its part of the change.
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
	// PrivilegeSessions is for the sessions of others: to see them, and to end those of killed replicas.
	PrivilegeSessions = "Sessions.TerminateSession"
)
