package alerts

import "time"

var vcenterStories = []story{
	{
		alert: "VmGroupVCenterDown",
		series: []series{
			gauge(`vmgroup_vcenter_up{pod="a",vcenter="vc-1"}`, 1, 0),
			gauge(`vmgroup_vcenter_up{pod="b",vcenter="vc-1"}`, 1, 0),
		},
		fires: 5 * time.Minute,
		want:  []string{"VmGroupVCenterDown: No replica reaches vCenter vc-1."},
	},
	{
		alert:  "VmGroupVCenterUnreachableFromReplica",
		series: []series{gauge(`vmgroup_vcenter_up{pod="b",vcenter="vc-1"}`, 1, 0)},
		fires:  10 * time.Minute,
		want:   []string{"VmGroupVCenterUnreachableFromReplica: Replica b does not reach vCenter vc-1, others do."},
	},
	{
		alert:  "VmGroupVCenterCredentialsRefused",
		series: []series{gauge(`vmgroup_vcenter_status{pod="a",vcenter="vc-1",reason="InvalidLogin"}`, absent, 1)},
		fires:  time.Minute,
		want:   []string{"VmGroupVCenterCredentialsRefused: vCenter vc-1 rejects the operator's user name or password."},
	},
	{
		alert: "VmGroupVCenterMisconfigured",
		series: []series{
			gauge(`vmgroup_vcenter_status{pod="a",vcenter="vc-1",reason="CertificateRefused"}`, absent, 1),
			gauge(`vmgroup_vcenter_status{pod="b",vcenter="vc-1",reason="CertificateRefused"}`, absent, 1),
			gauge(`vmgroup_vcenter_status{pod="a",vcenter="vc-2",reason="Connected"}`, 1, 1),
		},
		fires: 5 * time.Minute,
		want:  []string{"VmGroupVCenterMisconfigured: VCenter vc-1 cannot be used: CertificateRefused."},
	},
	{
		alert:  "VmGroupInventorySuddenlyEmpty",
		series: []series{gauge(`vmgroup_vcenter_status{pod="a",vcenter="vc-1",reason="InventorySuddenlyEmpty"}`, absent, 1)},
		fires:  time.Minute,
		want: []string{"VmGroupInventorySuddenlyEmpty: " +
			"The root folder of vCenter vc-1 contained VMs and now appears empty. The operator creates and deletes nothing there."},
	},
	{
		alert:  "VmGroupInventoryIncomplete",
		series: []series{gauge(`vmgroup_vcenter_inventory_complete{pod="b",vcenter="vc-1"}`, 1, 0)},
		fires:  15 * time.Minute,
		want:   []string{"VmGroupInventoryIncomplete: vCenter vc-1 responds, but a replica's inventory is incomplete. Its VmGroups wait."},
	},
	{
		alert:    "VmGroupVCenterErrors",
		series:   []series{counter(`vmgroup_vcenter_requests_total{pod="b",vcenter="vc-1",method="CloneVM_Task",code="fault"}`, 15, 30)},
		fires:    18*time.Minute + 30*time.Second,
		lasts:    25 * time.Minute,
		resolves: 5*time.Minute + 30*time.Second,
		want:     []string{"VmGroupVCenterErrors: vCenter vc-1 fails more than a fifth of the operator's calls."},
	},
	{
		alert: "VmGroupVCenterSlow",
		series: []series{
			counter(`vmgroup_vcenter_request_duration_seconds_bucket{pod="a",vcenter="vc-1",class="change",le="2.5"}`, 90, 10),
			counter(`vmgroup_vcenter_request_duration_seconds_bucket{pod="a",vcenter="vc-1",class="change",le="5"}`, 97, 60),
		},
		fires:    15*time.Minute + 30*time.Second,
		lasts:    25 * time.Minute,
		resolves: 8*time.Minute + 30*time.Second,
		want:     []string{"VmGroupVCenterSlow: vCenter vc-1 takes longer than 13.75s to accept a change (95th percentile)."},
	},
	{
		alert:  "VmGroupTasksStuck",
		series: []series{gauge(`vmgroup_vcenter_task_oldest_seconds{pod="a",vcenter="vc-1"}`, 3000, 4000)},
		fires:  5 * time.Minute,
		want:   []string{"VmGroupTasksStuck: A task of the operator has run in vCenter vc-1 for 1h 6m 40s."},
	},
	{
		alert:  "VmGroupTaskQueueLong",
		series: []series{gauge(`vmgroup_vcenter_tasks{pod="b",vcenter="vc-1",state="waiting"}`, 70, 130)},
		fires:  30 * time.Minute,
		want:   []string{"VmGroupTaskQueueLong: 200 tasks wait for a slot of vCenter vc-1."},
	},
	{
		alert:  "VmGroupOrphanedVMs",
		series: []series{gauge(`vmgroup_orphaned_vms{pod="a",vcenter="vc-1"}`, 0, 3)},
		fires:  30 * time.Minute,
		want:   []string{"VmGroupOrphanedVMs: 3 VMs in vCenter vc-1 belong to no VmGroup (orphans)."},
	},
}
