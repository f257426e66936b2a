package metrics

// Metrics of members.
var (
	MemberUp     = define("vmgroup_member_up", Gauge, Everyone, "1 while this replica serves the VmGroups of the member, 0 otherwise.", object("member"))
	MemberStatus = define("vmgroup_member_status", Gauge, Everyone,
		"1 for the reason why this replica does not serve the member. A member that it serves has no series.", object("member"), Label{Name: "reason"})
	MemberAdmissionReady  = define("vmgroup_member_admission_ready", Gauge, Leader, "1 if the member's admission objects are up to date, 0 otherwise.", object("member"))
	MemberStorageRestored = define("vmgroup_member_storage_restored_timestamp_seconds", Gauge, Everyone,
		"When this replica last found that a member's storage had gone back to a backup.", object("member"))
	MassDeletionAllowedUntil = define("vmgroup_mass_deletion_allowed_until_timestamp_seconds", Gauge, Everyone,
		"Until when mass deletions of the member are allowed without confirmation. There is no series after that time.", object("member"))
	QueueWaiting = define("vmgroup_queue_waiting", Gauge, Owner, "Passes of the member's groups that wait for a worker of this replica.", object("member"))
)
