package metrics

// Metrics of policies and quotas.
var (
	PolicyMatched = define("vmgroup_policy_matched_groups", Gauge, Leader, "VmGroups that the VmGroupPolicy applies to.", object("policy"))
	// PolicyViolations counts existing groups, because admission refuses new ones.
	PolicyViolations = define("vmgroup_policy_violations", Gauge, Leader, "VmGroups that exist and violate the VmGroupPolicy.", object("policy"))

	QuotaUsed = define("vmgroup_quota_used", Gauge, Leader,
		"What counts in the quota of a VmGroupPolicy. If its scope is Namespace, this is the namespace with the highest value.",
		object("policy"), oneOf("resource", QuotaResources...))
	QuotaHard = define("vmgroup_quota_hard", Gauge, Leader, "Limit of the quota of a VmGroupPolicy.", object("policy"), oneOf("resource", QuotaResources...))
	QuotaAsks = define("vmgroup_quota_asks_total", Counter, Process, "Requests of this replica for a share of the quotas, by outcome. Each pass over a group asks.",
		oneOf("outcome", QuotaOutcomes...))
	QuotaLedgerWrites = define("vmgroup_quota_ledger_writes_total", Counter, Process,
		"Writes of the ledgers of quotas by this replica, including those that met a conflict.")
	QuotaHeldByVCenter = define("vmgroup_quota_groups_held_by_vcenter", Gauge, Leader,
		"Deleted VmGroups that still count in quotas, because this vCenter cannot be read.", object("vcenter"))
)

// Values of labels of quotas.
var (
	QuotaResources = []string{"groups", "vms", "cpu", "memory_bytes", "storage_bytes"}
	QuotaOutcomes  = []string{"granted", "waiting", "refused", "unavailable"}
)
