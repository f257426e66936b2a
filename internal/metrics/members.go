package metrics

// Metrics of members.
var (
	MemberUp = define("vmgroup_member_up", Gauge, Everyone, "1 while this replica serves the member and the member responds, 0 otherwise.", object("member"))
	// MemberStatus has no series for a member that this replica serves.
	MemberStatus = define("vmgroup_member_status", Gauge, Everyone,
		"1, with the reason of condition Ready of the MemberCluster as this replica sees it, while the reason is not Engaged.",
		object("member"), Label{Name: "reason"})
	MemberAdmissionReady = define("vmgroup_member_admission_ready", Gauge, Leader,
		"1 while the admission policies and the webhook of the member are in place, 0 otherwise.", object("member"))
	MemberStorageRestored = define("vmgroup_member_storage_restored_timestamp_seconds", Gauge, Everyone,
		"When this replica last found that a member's storage had gone back to a backup.", object("member"))
	MemberCredentialExpires = define("vmgroup_member_credential_expiration_timestamp_seconds", Gauge, Everyone,
		"When the first credential with which the hub reaches the member expires, and which. Absent while that is more than 30 days ahead or unknown.",
		object("member"), oneOf("identity", "member", "bootstrap"))
	MemberCredentialRenews = define("vmgroup_member_credential_renewal_timestamp_seconds", Gauge, Everyone,
		"When the operator should have renewed a token of the member, and which. Absent unless the renewal is more than 10 minutes overdue.",
		object("member"), oneOf("identity", "member", "bootstrap"))
	MassDeletionAllowedUntil = define("vmgroup_mass_deletion_allowed_until_timestamp_seconds", Gauge, Everyone,
		"Until when an annotation of the MemberCluster switches the mass-deletion breaker off, while it does.", object("member"))
)
