package metrics

// Metrics of quotas.
var (
	QuotaLedgerWrites = define("vmgroup_quota_ledger_writes_total", Counter, Process,
		"Writes of the ledgers of quotas by this replica, including those that met a conflict.")
	QuotaHeldByVCenter = define("vmgroup_quota_groups_held_by_vcenter", Gauge, Leader,
		"Deleted VmGroups that still count in quotas, because this vCenter cannot be read.", object("vcenter"))
)
