package alerts

import "time"

var operatorStories = []story{
	{
		alert: "VmGroupOperatorDown",
		series: []series{
			gauge(`vmgroup_build_info{pod="a",version="1"}`, 1, absent),
			gauge(`vmgroup_build_info{pod="b",version="1"}`, 1, absent),
		},
		fires: 5 * time.Minute,
		want:  []string{"VmGroupOperatorDown: No replica of the VmGroup operator responds."},
	},
	{
		alert: "VmGroupBucketsUnowned",
		series: []series{
			gauge(`vmgroup_sharding_unowned_seconds{pod="a"}`, 20, 20),
			gauge(`vmgroup_sharding_unowned_seconds{pod="b"}`, 20, 90),
		},
		fires: time.Minute,
		want:  []string{"VmGroupBucketsUnowned: Some VmGroups have been without an owner for 1m 30s."},
	},
	{
		alert:  "VmGroupNoLeader",
		series: []series{gauge(`vmgroup_sharding_leader{pod="a"}`, 1, 0)},
		fires:  2 * time.Minute,
		want:   []string{"VmGroupNoLeader: The VmGroup operator has no leader."},
	},
	{
		alert:  "VmGroupReplicaMayNotAct",
		series: []series{gauge(`vmgroup_sharding_validity_seconds{pod="b"}`, 8, 0)},
		fires:  time.Minute,
		want:   []string{"VmGroupReplicaMayNotAct: Replica b has no valid lease and does not act."},
	},
	{
		alert:  "VmGroupShardMapRebuilt",
		series: []series{gauge(`vmgroup_sharding_epoch_generation{pod="a"}`, 3, 4), gauge(`vmgroup_sharding_epoch_generation{pod="b"}`, 3, 4)},
		// The generation is reverted at the end of the fault, which is another change.
		resolves: 14*time.Minute + 30*time.Second,
		want:     []string{"VmGroupShardMapRebuilt: The shard map of the VmGroup operator was lost or restored."},
	},
	{
		alert: "VmGroupReconcileErrors",
		series: []series{
			counter(`controller_runtime_reconcile_total{pod="a",controller="vmgroup",result="success"}`, 92, 70),
			counter(`controller_runtime_reconcile_total{pod="a",controller="vmgroup",result="error"}`, 8, 30),
			counter(`controller_runtime_reconcile_errors_total{pod="a",controller="vmgroup"}`, 8, 30),
		},
		fires:    15*time.Minute + 30*time.Second,
		lasts:    25 * time.Minute,
		resolves: 8*time.Minute + 30*time.Second,
		want:     []string{"VmGroupReconcileErrors: More than 10 percent of reconciliations of controller vmgroup fail."},
	},
	{
		alert:    "VmGroupPanics",
		says:     "in a controller",
		series:   []series{counter(`controller_runtime_reconcile_panics_total{pod="a",controller="vmgroup"}`, 0, 0.2)},
		resolves: 14 * time.Minute,
		want:     []string{"VmGroupPanics: The VmGroup operator panicked in controller vmgroup."},
	},
	{
		alert:    "VmGroupPanics",
		says:     "in a webhook",
		series:   []series{counter(`vmgroup_admission_requests_total{pod="a",webhook="vmgroups",member="m-1",verdict="panicked"}`, 0, 0.2)},
		resolves: 14 * time.Minute,
		want: []string{
			"VmGroupAdmissionFailing: The webhooks cannot decide requests of member m-1: panicked.",
			"VmGroupPanics: The VmGroup operator panicked in webhook vmgroups.",
		},
	},
	{
		alert:  "VmGroupPanics",
		says:   "for the first time in a webhook of a replica",
		series: []series{gauge(`vmgroup_admission_requests_total{pod="b",webhook="vmgroups",member="m-1",verdict="panicked"}`, absent, 1)},
		want:   []string{"VmGroupPanics: The VmGroup operator panicked in webhook vmgroups."},
	},
	{
		alert:    "VmGroupAdmissionFailing",
		series:   []series{counter(`vmgroup_admission_requests_total{pod="a",webhook="vmgroups",member="m-1",verdict="unavailable"}`, 0, 2)},
		fires:    5 * time.Minute,
		resolves: 4 * time.Minute,
		want:     []string{"VmGroupAdmissionFailing: The webhooks cannot decide requests of member m-1: unavailable."},
	},
	{
		alert:    "VmGroupAdmissionSlow",
		series:   []series{counter(`vmgroup_admission_request_duration_seconds_bucket{pod="a",webhook="vmgroups",le="1"}`, 995, 950)},
		fires:    10*time.Minute + 30*time.Second,
		lasts:    20 * time.Minute,
		resolves: 3*time.Minute + 30*time.Second,
		want:     []string{"VmGroupAdmissionSlow: Admission requests take longer than 1.8s (99th percentile)."},
	},
	{
		alert:  "VmGroupMemberDoesNotTrust",
		series: []series{gauge(`vmgroup_admission_ca_bundle_oldest_ack_seconds{pod="a"}`, 600, 1000)},
		fires:  5 * time.Minute,
		want:   []string{"VmGroupMemberDoesNotTrust: A member has had an outdated webhook CA bundle for 16m 40s."},
	},
	{
		alert:  "VmGroupCertificateExpires",
		series: []series{stamp(`vmgroup_admission_serving_certificate_expiration_timestamp_seconds{pod="a"}`, 10*day, 6*day)},
		fires:  15 * time.Minute,
		want:   []string{"VmGroupCertificateExpires: The certificate of the webhooks expires in 6d 0h 0m 0s."},
	},
	{
		alert:  "VmGroupAuthorityExpires",
		series: []series{stamp(`vmgroup_admission_ca_expiration_timestamp_seconds{pod="a"}`, 40*day, 20*day)},
		fires:  15 * time.Minute,
		want:   []string{"VmGroupAuthorityExpires: The certificate authority of the webhooks expires in 20d 0h 0m 0s."},
	},
}

// quietStories are events of a healthy fleet that must not page.
var quietStories = []story{
	{
		says: "a replica dies and another one takes its share over",
		series: []series{
			gauge(`vmgroup_build_info{pod="a",version="1"}`, 1, absent),
			gauge(`vmgroup_sharding_leader{pod="a"}`, 1, absent),
			gauge(`vmgroup_sharding_leader{pod="b"}`, 0, 1),
			gauge(`vmgroup_vcenter_up{pod="a",vcenter="vc-1"}`, 1, absent),
			gauge(`vmgroup_member_up{pod="a",member="m-1"}`, 1, absent),
			gauge(`vmgroup_groups{pod="a",member="m-1",vcenter="vc-1",state="running"}`, 45, absent),
			gauge(`vmgroup_groups{pod="b",member="m-1",vcenter="vc-1",state="running"}`, 46, 91),
			gauge(`vmgroup_vms{pod="a",member="m-1",vcenter="vc-1",state="ready"}`, 490, absent),
			gauge(`vmgroup_vms{pod="a",member="m-1",vcenter="vc-1",state="lost"}`, 10, absent),
			gauge(`vmgroup_vms_desired{pod="a",member="m-1",vcenter="vc-1"}`, 500, absent),
			gauge(`vmgroup_vms{pod="b",member="m-1",vcenter="vc-1",state="ready"}`, 490, 980),
			gauge(`vmgroup_vms_desired{pod="b",member="m-1",vcenter="vc-1"}`, 500, 1000),
		},
		lasts: 90 * time.Minute,
	},
	{
		says: "half of the fleet is new and is cloned for an hour",
		series: []series{
			gauge(`vmgroup_vms{pod="a",member="m-1",vcenter="vc-1",state="starting"}`, absent, 500),
			gauge(`vmgroup_vms_desired{pod="a",member="m-1",vcenter="vc-1"}`, 500, 1000),
		},
		lasts: time.Hour,
	},
	{
		says:   "groups come and go, and some are always pending",
		series: []series{gauge(`vmgroup_groups{pod="a",member="m-1",vcenter="vc-1",state="pending"}`, 5, 20)},
		lasts:  2 * time.Hour,
	},
	{
		says:   "a replica that starts does not know the generation yet",
		series: []series{gauge(`vmgroup_sharding_epoch_generation{pod="b"}`, 3, 0)},
		lasts:  time.Minute,
	},
	{
		says: "all VMs of a member are paused and count nowhere",
		series: []series{
			gauge(`vmgroup_vms{pod="a",member="m-2",vcenter="vc-2",state="ready"}`, 20, absent),
			gauge(`vmgroup_vms_desired{pod="a",member="m-2",vcenter="vc-2"}`, 20, absent),
		},
		lasts: time.Hour,
	},
}
