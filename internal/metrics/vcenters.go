package metrics

// Metrics of vCenters.
var (
	VCenterUp     = define("vmgroup_vcenter_up", Gauge, Everyone, "1 while calls of this replica to the vCenter succeed, 0 otherwise.", object("vcenter"))
	VCenterStatus = define("vmgroup_vcenter_status", Gauge, Everyone,
		"1 for the reason of condition Ready of the VCenter as this replica sees it; other reasons have no series.", object("vcenter"), Label{Name: "reason"})
	VCenterComplete = define("vmgroup_vcenter_inventory_complete", Gauge, Everyone,
		"1 if this replica knows every VM below the root folder, 0 otherwise.", object("vcenter"))
	VCenterVMs = define("vmgroup_vcenter_vms", Gauge, Everyone,
		"VMs in the vCenter that carry the stamp of this installation, as this replica sees them.", object("vcenter"))
	VCenterRequests = define("vmgroup_vcenter_requests_total", Counter, Process,
		"Calls to the vCenter, by method and by how they ended. fenced are calls that were not sent, because another replica held the group.",
		object("vcenter"), oneOf("method", VCenterMethods...), oneOf("code", VCenterCodes...))
	VCenterRequestDuration = define("vmgroup_vcenter_request_duration_seconds", Histogram, Process,
		"Time that calls to the vCenter took, by whether they read or change something. WaitForUpdatesEx, which waits by design, is left out.",
		object("vcenter"), oneOf("class", "read", "change")).
		in(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15)
	VCenterTasks = define("vmgroup_vcenter_tasks", Gauge, Owner,
		"Tasks of this replica in the vCenter: running, with those for which a slot is reserved, and waiting for a slot.",
		object("vcenter"), oneOf("state", "running", "waiting"))
	VCenterTaskLimit    = define("vmgroup_vcenter_task_limit", Gauge, Everyone, "Tasks that all replicas together run in the vCenter at a time.", object("vcenter"))
	VCenterTaskDuration = define("vmgroup_vcenter_task_duration_seconds", Histogram, Process,
		"Time that tasks took by vCenter's clock, the time in its queue included, by kind of the task.",
		object("vcenter"), oneOf("kind", VCenterTaskKinds...)).
		in(1, 5, 15, 60, 300, 900, 3600)
	VCenterOldestTask = define("vmgroup_vcenter_task_oldest_seconds", Gauge, Everyone, "Age of the oldest task that this replica waits for; 0 without any.", object("vcenter"))
	OrphanedVMs       = define("vmgroup_orphaned_vms", Gauge, Leader, "VMs in the vCenter whose VmGroup does not exist.", object("vcenter"))
	ReleasedVMs       = define("vmgroup_released_vms", Gauge, Leader, "VMs in the vCenter that were kept when their VmGroup was deleted.", object("vcenter"))
)

// VCenterMethods are the methods that are counted by name; all others count as Other.
var VCenterMethods = []string{
	"Login", "RetrievePropertiesEx", "ContinueRetrievePropertiesEx", "WaitForUpdatesEx", "QueryEvents", "CloneVM_Task", "PowerOnMultiVM_Task",
	"PowerOnVM_Task", "PowerOffVM_Task", "ReconfigVM_Task", "Destroy_Task", "CreateFolder", Other,
}

// VCenterCodes are how calls end: ok; answered with a fault; without a login; not in time; without an answer; not sent.
var VCenterCodes = []string{"ok", "fault", "unauthenticated", "timeout", "transport", "fenced"}

// VCenterTaskKinds are the kinds of tasks whose duration is measured.
var VCenterTaskKinds = []string{"clone", "power", "reconfigure", "destroy"}
