package alerts

import "time"

var memberStories = []story{
	{
		alert: "VmGroupMemberDown",
		series: []series{
			gauge(`vmgroup_member_up{pod="a",member="m-1"}`, 1, 0),
			gauge(`vmgroup_member_up{pod="b",member="m-1"}`, 1, 0),
		},
		fires: 5 * time.Minute,
		want:  []string{"VmGroupMemberDown: No replica serves member m-1. Its VmGroups and VMs stay as they are."},
	},
	{
		alert:  "VmGroupMemberUnreachableFromReplica",
		series: []series{gauge(`vmgroup_member_up{pod="b",member="m-1"}`, 1, 0)},
		fires:  10 * time.Minute,
		want:   []string{"VmGroupMemberUnreachableFromReplica: Replica b does not reach member m-1, others do. Its share of the groups waits."},
	},
	{
		alert:  "VmGroupMemberAdmissionNotReady",
		series: []series{gauge(`vmgroup_member_admission_ready{pod="a",member="m-1"}`, 1, 0)},
		fires:  15 * time.Minute,
		want:   []string{"VmGroupMemberAdmissionNotReady: Admission does not enforce policies in member m-1."},
	},
	{
		alert: "VmGroupMemberRestored",
		// Fifteen minutes ago, and it stays so during the fault.
		series: []series{stamp(`vmgroup_member_storage_restored_timestamp_seconds{pod="a",member="m-1"}`, -2*time.Hour, -15*time.Minute)},
		want:   []string{"VmGroupMemberRestored: The etcd of member m-1 was restored from a backup."},
	},
	{
		alert:  "VmGroupMemberCredentialExpires",
		series: []series{stamp(`vmgroup_member_credential_expiration_timestamp_seconds{pod="a",member="m-1",identity="bootstrap"}`, 10*day, 6*day)},
		fires:  15 * time.Minute,
		want:   []string{"VmGroupMemberCredentialExpires: The credential bootstrap of member m-1 expires in 6d 0h 0m 0s."},
	},
	{
		alert:  "VmGroupMemberCredentialExpires",
		says:   "it has expired",
		series: []series{stamp(`vmgroup_member_credential_expiration_timestamp_seconds{pod="a",member="m-1",identity="member"}`, 10*day, -time.Hour)},
		fires:  15 * time.Minute,
		want:   []string{"VmGroupMemberCredentialExpires: The credential member of member m-1 has expired."},
	},
	{
		alert:  "VmGroupMemberCredentialNotRenewed",
		series: []series{stamp(`vmgroup_member_credential_renewal_timestamp_seconds{pod="a",member="m-1",identity="member"}`, -5*time.Minute, -2*time.Hour)},
		fires:  15 * time.Minute,
		want:   []string{"VmGroupMemberCredentialNotRenewed: The operator cannot renew the token member of member m-1."},
	},
	{
		alert: "VmGroupBreakerReleased",
		series: []series{
			gauge(`vmgroup_mass_deletion_allowed_until_timestamp_seconds{pod="a",member="m-1"}`, absent, float64(epoch.Add(settle+10*time.Minute).Unix())),
		},
		// The fault, an existing series, lasts beyond the time that it specifies.
		lasts:    15 * time.Minute,
		resolves: -5 * time.Minute,
		want:     nil,
	},
	{
		alert: "VmGroupDeletionHeld",
		series: []series{
			gauge(`vmgroup_groups_held{pod="a",member="m-1",reason="mass_deletion"}`, absent, 3),
			gauge(`vmgroup_groups_held{pod="b",member="m-1",reason="mass_deletion"}`, absent, 4),
			gauge(`vmgroup_groups_held{pod="b",member="m-1",reason="policy"}`, 5, 5),
		},
		fires: 5 * time.Minute,
		want:  []string{"VmGroupDeletionHeld: 7 VmGroups of member m-1 are held by the mass-deletion breaker. Confirm or undo the deletion."},
	},
	{
		alert: "VmGroupRepairHeld",
		series: []series{
			gauge(`vmgroup_groups_held{pod="a",member="m-1",reason="repair"}`, absent, 2),
			gauge(`vmgroup_groups_held{pod="b",member="m-1",reason="repair"}`, absent, 1),
		},
		fires: 15 * time.Minute,
		want:  []string{"VmGroupRepairHeld: 3 VmGroups of member m-1 have more unhealthy VMs than repair.maxUnhealthy allows."},
	},
}
