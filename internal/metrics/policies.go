package metrics

// Metrics of policies and quotas.
var (
	PolicyMatchedGroups = define("vmgroup_policy_matched_groups", Gauge, Leader, "VmGroups that the policy applies to.", object("policy"))
	PolicyViolations    = define("vmgroup_policy_violations", Gauge, Leader, "VmGroups whose spec violates the policy.", object("policy"))
	QuotaUsed           = define("vmgroup_quota_used", Gauge, Leader,
		"What VmGroups use of the policy's quota; of a quota for each namespace, what the namespace with the largest share uses.", object("policy"), quotaResource)
	QuotaHard = define("vmgroup_quota_hard", Gauge, Leader, "The limit of the policy's quota.", object("policy"), quotaResource)
	QuotaAsks = define("vmgroup_quota_asks_total", Counter, Process, "Questions to the ledgers of quotas, by answer.",
		oneOf("outcome", "granted", "waiting", "refused", "unavailable"))
	QuotaLedgerWrites = define("vmgroup_quota_ledger_writes_total", Counter, Process,
		"Writes of the ledgers of quotas by this replica, including those that met a conflict.")
	QuotaHeldByVCenter = define("vmgroup_quota_groups_held_by_vcenter", Gauge, Leader,
		"Deleted VmGroups that still count in quotas, because this vCenter cannot be read.", object("vcenter"))
)

var quotaResource = oneOf("resource", "groups", "vms", "cpu", "memory_bytes")
