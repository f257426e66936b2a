package metrics

// Metrics of vCenters.
var (
	VCenterUp = define("vmgroup_vcenter_up", Gauge, Everyone, "1 while this replica reaches the vCenter, 0 otherwise.", object("vcenter"))
	// VCenterStatus has only the current reason of each VCenter.
	VCenterStatus = define("vmgroup_vcenter_status", Gauge, Everyone, "1, with the reason of condition Ready of the VCenter as this replica sees it.",
		object("vcenter"), Label{Name: "reason"})
	VCenterComplete = define("vmgroup_vcenter_inventory_complete", Gauge, Everyone, "1 while this replica knows every VM below the root folder, 0 otherwise.",
		object("vcenter"))
	VCenterVMs = define("vmgroup_vcenter_vms", Gauge, Everyone, "VMs of this installation that this replica knows in the vCenter.", object("vcenter"))

	VCenterRequests = define("vmgroup_vcenter_requests_total", Counter, Process,
		"Requests to the vCenter, by vSphere method and outcome. Requests that the operator canceled itself are not counted.",
		object("vcenter"), Label{Name: "method"}, oneOf("code", RequestCodes...))
	VCenterRequestTime = define("vmgroup_vcenter_request_duration_seconds", Histogram, Process,
		"Time from a request to its answer, by whether it reads or changes. Requests that wait for news are left out.",
		object("vcenter"), oneOf("class", RequestClasses...)).in(0.05, 0.25, 1, 2.5, 5, 15)

	VCenterTasks = define("vmgroup_vcenter_tasks", Gauge, Owner, "Tasks of this replica at the vCenter that run or have a slot, and that wait for a slot.",
		object("vcenter"), oneOf("state", TaskStates...))
	VCenterTaskLimit = define("vmgroup_vcenter_task_limit", Gauge, Everyone, "Tasks that all replicas together run at the vCenter at most.", object("vcenter"))
	VCenterTaskTime  = define("vmgroup_vcenter_task_duration_seconds", Histogram, Process,
		"Time that tasks that succeeded took, the time in the queue of the vCenter included.", object("vcenter"), oneOf("kind", TaskKinds...)).
		in(5, 60, 300, 900, 3600)
	VCenterTaskOldest = define("vmgroup_vcenter_task_oldest_seconds", Gauge, Everyone,
		"For how long the task has run that this replica has waited for the longest.", object("vcenter"))

	OrphanedVMs = define("vmgroup_orphaned_vms", Gauge, Leader, "VMs in the vCenter that belong to no VmGroup.", object("vcenter"))
	ReleasedVMs = define("vmgroup_released_vms", Gauge, Leader, "VMs in the vCenter that were kept when their VmGroup was deleted, and that no other has adopted.",
		object("vcenter"))
)

// Values of labels of vCenters.
var (
	RequestCodes   = []string{"ok", "fault", "unauthenticated", "timeout", "transport", "fenced"}
	RequestClasses = []string{"read", "change"}
	TaskStates     = []string{"running", "waiting"}
	TaskKinds      = []string{"clone", "power", "reconfigure", "destroy"}
)
