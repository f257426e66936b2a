package alerts

import "time"

var groupStories = []story{
	{
		alert:  "VmGroupManyNotReady",
		says:   "on two replicas, and only the sum shows it",
		series: []series{gauge(`vmgroup_groups_not_ready{pod="a",member="m-1",vcenter="vc-1",longer_than="15m"}`, 5, 8)},
		fires:  5 * time.Minute,
		want:   []string{"VmGroupManyNotReady: 12 VmGroups of vCenter vc-1 have not been ready for 15 minutes, more than 10 percent."},
	},
	{
		alert: "VmGroupNotReady",
		series: []series{
			gauge(`vmgroup_groups_not_ready{pod="a",member="m-1",vcenter="vc-1",longer_than="1h"}`, absent, 1),
			gauge(`vmgroup_groups_not_ready{pod="b",member="m-1",vcenter="vc-1",longer_than="1h"}`, absent, 1),
		},
		fires: 5 * time.Minute,
		want:  []string{"VmGroupNotReady: 2 VmGroups of member m-1 in vCenter vc-1 have not been ready for an hour."},
	},
	{
		alert:  "VmGroupStalled",
		series: []series{gauge(`vmgroup_groups{pod="a",member="m-1",vcenter="vc-1",state="error"}`, absent, 2)},
		fires:  time.Hour,
		want:   []string{"VmGroupStalled: 2 VmGroups of member m-1 need an edit before they can continue."},
	},
	{
		alert: "VmGroupVMsMissingFast",
		series: []series{
			gauge(`vmgroup_vms{pod="a",member="m-1",vcenter="vc-1",state="ready"}`, 490, 290),
			gauge(`vmgroup_vms{pod="a",member="m-1",vcenter="vc-1",state="lost"}`, 10, 210),
		},
		fires:    14*time.Minute + 30*time.Second,
		short:    13 * time.Minute,
		lasts:    30 * time.Minute,
		resolves: 3*time.Minute + 30*time.Second,
		// The slow burn ends half an hour later.
		afterwards: 40 * time.Minute,
		want: []string{
			"VmGroupVMsMissingFast: 11.76% of the VMs are lost, unhealthy or being repaired: at this rate a month's error budget is spent in two days.",
			"VmGroupVMsMissingSlow: 11.01% of the VMs have been lost, unhealthy or under repair for hours.",
		},
	},
	{
		alert: "VmGroupVMsMissingSlow",
		series: []series{
			gauge(`vmgroup_vms{pod="b",member="m-1",vcenter="vc-1",state="ready"}`, 490, 450),
			gauge(`vmgroup_vms{pod="b",member="m-1",vcenter="vc-1",state="repairing"}`, 10, 50),
		},
		fires:    27*time.Minute + 30*time.Second,
		short:    16 * time.Minute,
		lasts:    80 * time.Minute,
		resolves: 22 * time.Minute,
		want:     []string{"VmGroupVMsMissingSlow: 4.689% of the VMs have been lost, unhealthy or under repair for hours."},
	},
	{
		alert: "VmGroupRepairStorm",
		says:  "in a large vCenter and in a small one",
		series: []series{
			counter(`vmgroup_drift_total{pod="a",vcenter="vc-1",kind="powered_off"}`, 20.0/30, 100.0/30),
			counter(`vmgroup_drift_total{pod="a",vcenter="vc-2",kind="powered_off"}`, 8.0/30, 15.0/30),
		},
		fires: 8*time.Minute + 30*time.Second,
		// Beyond that the changes of thirty minutes are too many, for thirty minutes.
		short:    3 * time.Minute,
		lasts:    25 * time.Minute,
		resolves: 25*time.Minute + 30*time.Second,
		want: []string{
			"VmGroupRepairStorm: 107.8 VMs in vCenter vc-1 were changed or deleted outside the operator in 30 minutes.",
			"VmGroupRepairStorm: 13.93 VMs in vCenter vc-2 were changed or deleted outside the operator in 30 minutes.",
		},
	},
	{
		alert:  "VmGroupRolloutStopped",
		series: []series{gauge(`vmgroup_rollouts{pod="a",vcenter="vc-1",state="stopped"}`, absent, 2)},
		fires:  10 * time.Minute,
		want:   []string{"VmGroupRolloutStopped: 2 updates of VmGroups in vCenter vc-1 stopped because new VMs did not become ready."},
	},
	{
		alert:    "VmGroupActionsRefused",
		series:   []series{counter(`vmgroup_actions_total{pod="a",vcenter="vc-1",action="CreateVM",cause="create",result="refused"}`, 6.0/15, 1)},
		fires:    19*time.Minute + 30*time.Second,
		lasts:    30 * time.Minute,
		resolves: 9*time.Minute + 30*time.Second,
		want:     []string{"VmGroupActionsRefused: vCenter vc-1 rejects most CreateVM calls."},
	},
	{
		alert:    "VmGroupQuotaUnavailable",
		series:   []series{counter(`vmgroup_quota_asks_total{pod="b",outcome="unavailable"}`, 0, 2)},
		fires:    5 * time.Minute,
		resolves: 4 * time.Minute,
		want:     []string{"VmGroupQuotaUnavailable: The operator cannot read or write quotas. VmGroups under a quota cannot grow."},
	},
	{
		alert:  "VmGroupQuotaNearlyFull",
		series: []series{gauge(`vmgroup_quota_used{pod="a",policy="shop",resource="vms"}`, 94, 99)},
		fires:  time.Hour,
		want:   []string{"VmGroupQuotaNearlyFull: The quota vms of VmGroupPolicy shop is above 95 percent."},
	},
}
