package metrics

// Metrics of members.
var MemberStorageRestored = define("vmgroup_member_storage_restored_timestamp_seconds", Gauge, Everyone,
	"When this replica last found that a member's storage had gone back to a backup.", object("member"))
