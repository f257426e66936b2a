package vsphere

// Privileges used in code, by their vSphere names. Package privileges lists all privileges that the account needs.
const (
	// The first four permit changes of VMs, each for one part of a change.
	PrivilegeCPUs        = "VirtualMachine.Config.CPUCount"
	PrivilegeMemory      = "VirtualMachine.Config.Memory"
	PrivilegeExtraConfig = "VirtualMachine.Config.AdvancedConfig"
	// PrivilegeDisks permits larger disks, of clones and of VMs. An account without it serves all groups whose disks do not grow.
	PrivilegeDisks = "VirtualMachine.Config.DiskExtend"
	// PrivilegeDevices permits changing an adapter's network. An account without it serves all groups that name no
	// network.
	PrivilegeDevices = "VirtualMachine.Config.EditDevice"
	// PrivilegeNotes permits CloneRequest.Note. An account without it creates VMs without notes.
	PrivilegeNotes = "VirtualMachine.Config.Annotation"
	// PrivilegeVApp permits clones of templates with vApp properties that cloud-init configures.
	PrivilegeVApp = "VApp.ApplicationConfig"
	// PrivilegeCrypto permits clones of encrypted templates.
	PrivilegeCrypto = "Cryptographer.Clone"
	// PrivilegeRead is part of every role. An account without any role on an object lacks it.
	PrivilegeRead = "System.Read"
	// PrivilegeSessions permits listing the sessions of other replicas, and ending those of killed replicas.
	PrivilegeSessions = "Sessions.TerminateSession"
)
