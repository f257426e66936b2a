package metrics

// Metrics of VmGroups and their VMs.
var (
	Groups = define("vmgroup_groups", Gauge, Owner, "VmGroups by state. A group counts in the first state of this order that holds: "+
		"unattended, paused, deleting, error, pending, running.", object("member"), object("vcenter"), oneOf("state", GroupStates...))
	GroupsByReason = define("vmgroup_groups_by_reason", Gauge, Owner, "VmGroups that are not ready, by the reason of condition Ready.",
		object("vcenter"), Label{Name: "reason"})
	GroupsNotReady = define("vmgroup_groups_not_ready", Gauge, Owner,
		"VmGroups that have not been ready for longer than this; each also counts in all shorter times. Groups that are paused or held are left out.",
		object("member"), object("vcenter"), oneOf("longer_than", NotReadyFor...))
	VMs = define("vmgroup_vms", Gauge, Owner, "VMs of VmGroups by state. starting is a first VM, repairing one that replaces a lost VM.",
		object("member"), object("vcenter"), oneOf("state", VMStates...))
	VMsDesired  = define("vmgroup_vms_desired", Gauge, Owner, "VMs that VmGroups want. Groups that are paused or deleted want none.", object("member"), object("vcenter"))
	VMReadyTime = define("vmgroup_vm_ready_duration_seconds", Histogram, Process,
		"Time from when this replica first saw that a VM is wanted until it was ready for the first time.", object("vcenter")).
		in(15, 30, 60, 120, 300, 600, 1200, 3600)
	Drift = define("vmgroup_drift_total", Counter, Process, "Changes of VMs that the operator did not make.", object("vcenter"), oneOf("kind", DriftKinds...))

	Actions = define("vmgroup_actions_total", Counter, Process,
		"Actions submitted to the vCenter, by kind, by why the plan has them, and by whether vCenter accepted or refused them.",
		object("vcenter"), oneOf("action", ActionKinds...), oneOf("cause", ActionCauses...), oneOf("result", "accepted", "refused"))
	VMsDestroyed = define("vmgroup_vms_destroyed_total", Counter, Process, "VMs that vCenter was asked to destroy, by member and cause.",
		object("member"), oneOf("reason", "deletion", "scale-down", "replacement"))
	GroupsHeld = define("vmgroup_groups_held", Gauge, Owner,
		"VmGroups that are held, by why: a mass deletion, a repair of too many VMs, a disk that is not theirs, or a policy.",
		object("member"), oneOf("reason", HoldReasons...))
	QueueWaiting = define("vmgroup_queue_waiting", Gauge, Process, "VmGroups of this replica that are due and wait for a worker.", object("member"))
	Rollouts     = define("vmgroup_rollouts", Gauge, Owner, "Updates of VmGroups that have not ended, by state.", object("vcenter"), oneOf("state", RolloutStates...))
)

// Values of labels of groups.
var (
	GroupStates   = []string{"running", "pending", "error", "deleting", "paused", "unattended"}
	NotReadyFor   = []string{"15m", "1h"}
	VMStates      = []string{"ready", "starting", "repairing", "stopped", "deleting", "lost", "unhealthy", "failed"}
	HoldReasons   = []string{"mass_deletion", "repair", "foreign_disk", "policy"}
	RolloutStates = []string{"progressing", "paused", "stopped"}
	DriftKinds    = []string{"deleted", "powered_off", "powered_on", "suspended", "resized", "moved", "renamed", "host_lost"}
	ActionKinds   = []string{
		"CreateVM", "PowerOnVM", "ShutdownGuest", "PowerOffVM", "MarkVM", "DestroyVM", "ReleaseVM", "RestampVM", "CancelClone", "ClaimVM", "MoveVM",
		"RenameVM", "AdoptVM", "ReconfigureVM",
	}
	ActionCauses = []string{"create", "scale", "repair", "update", "delete", "adopt", "power"}
)
