package main

var fleet = board{
	name: "fleet", title: "VmGroups: fleet",
	about:   "State of all VmGroups and VMs, vCenters and members.",
	filters: []filter{byVCenter, byMember},
	rows: []row{
		{"Now", []panel{
			{title: "VmGroups", about: "Number of VmGroups.", as: number, unit: count, queries: []query{
				{`sum(vmgroup_groups{namespace="$namespace",vcenter=~"$vcenter",member=~"$member"}) or vector(0)`, "VmGroups"}}},
			{title: "VMs ready", about: "Number of VMs that are ready.", as: number, unit: count, queries: []query{
				{`sum(vmgroup_vms{namespace="$namespace",vcenter=~"$vcenter",member=~"$member",state="ready"}) or vector(0)`, "ready"}}},
			{title: "VMs desired", about: "Number of VMs that VmGroups want.", as: number, unit: count, queries: []query{
				{`sum(vmgroup_vms_desired{namespace="$namespace",vcenter=~"$vcenter",member=~"$member"}) or vector(0)`, "desired"}}},
			{title: "vCenters down", about: "Number of vCenters that no replica reaches.", as: number, unit: count, above: cite(1.0), queries: []query{
				{`count(max by (vcenter) (vmgroup_vcenter_up{namespace="$namespace",vcenter=~"$vcenter"}) == 0) or vector(0)`, "down"}}},
			{title: "Members down", about: "Number of members that no replica serves.", as: number, unit: count, above: cite(1.0), queries: []query{
				{`count(max by (member) (vmgroup_member_up{namespace="$namespace",member=~"$member"}) == 0) or vector(0)`, "down"}}},
			{title: "Deletions held", about: "Number of VmGroups that the mass-deletion breaker holds.", as: number, unit: count, above: cite(1.0), queries: []query{
				{`sum(vmgroup_groups_held{namespace="$namespace",member=~"$member",reason="mass_deletion"}) or vector(0)`, "held"}}},
			{title: "Orphans", about: "Number of VMs that belong to no VmGroup.", as: number, unit: count, above: cite(1.0), queries: []query{
				{`sum(max by (vcenter) (vmgroup_orphaned_vms{namespace="$namespace",vcenter=~"$vcenter"})) or vector(0)`, "orphans"}}},
			{title: "VMs missing", about: "Share of VMs that are lost, unhealthy or under repair. The month's budget is 0.5 percent.",
				as: number, unit: fraction, above: cite(0.005), queries: []query{
					{`(sum(vmgroup_vms{namespace="$namespace",vcenter=~"$vcenter",member=~"$member",state=~"lost|unhealthy|repairing"}) or vector(0))` +
						` / (sum(vmgroup_vms_desired{namespace="$namespace",vcenter=~"$vcenter",member=~"$member"}) > 0)`, "missing"}}},
		}},
		{"VmGroups", []panel{
			{title: "VmGroups by state", about: "VmGroups, each in the first state that holds.", as: areas, unit: count, queries: []query{
				{`sum by (state) (vmgroup_groups{namespace="$namespace",vcenter=~"$vcenter",member=~"$member"})`, "{{state}}"}}},
			{title: "Not ready longer than", about: "VmGroups that have not been ready for this time, without paused and held ones.", unit: count, queries: []query{
				{`sum by (longer_than) (vmgroup_groups_not_ready{namespace="$namespace",vcenter=~"$vcenter",member=~"$member"})`, "{{longer_than}}"}}},
			{title: "Reasons", about: "The most frequent reasons why VmGroups are not ready.", as: grid, unit: count, queries: []query{
				{`topk(10, sum by (reason) (vmgroup_groups_by_reason{namespace="$namespace",vcenter=~"$vcenter"}))`, "VmGroups"}}},
			{title: "Updates", about: "Updates of VmGroups that have not ended.", as: areas, unit: count, queries: []query{
				{`sum by (state) (vmgroup_rollouts{namespace="$namespace",vcenter=~"$vcenter"})`, "{{state}}"}}},
			{title: "Held", about: "VmGroups that are held, by reason.", as: areas, unit: count, queries: []query{
				{`sum by (reason) (vmgroup_groups_held{namespace="$namespace",member=~"$member"})`, "{{reason}}"}}},
			{title: "Members and vCenters", about: "VMs that are ready and VMs that are desired.", as: grid, unit: count, queries: []query{
				{`sum by (member, vcenter) (vmgroup_vms{namespace="$namespace",vcenter=~"$vcenter",member=~"$member",state="ready"})`, "ready"},
				{`sum by (member, vcenter) (vmgroup_vms_desired{namespace="$namespace",vcenter=~"$vcenter",member=~"$member"})`, "desired"}}},
		}},
		{"VMs", []panel{
			{title: "VMs by state", about: "VMs of VmGroups.", as: areas, unit: count, queries: []query{
				{`sum by (state) (vmgroup_vms{namespace="$namespace",vcenter=~"$vcenter",member=~"$member"})`, "{{state}}"}}},
			{title: "Time to ready", about: "Time from the wish for a VM until it was ready. The target is 600 seconds for 99 percent.",
				unit: seconds, above: cite(600.0), queries: []query{
					{quantile("0.5", "vmgroup_vm_ready_duration_seconds", `vcenter=~"$vcenter"`, "1h"), "p50"},
					{quantile("0.95", "vmgroup_vm_ready_duration_seconds", `vcenter=~"$vcenter"`, "1h"), "p95"},
					{quantile("0.99", "vmgroup_vm_ready_duration_seconds", `vcenter=~"$vcenter"`, "1h"), "p99"}}},
			{title: "Changes outside the operator", about: "VMs that something else changed or deleted, in an hour.", as: areas, unit: count, queries: []query{
				{`sum by (kind) (increase(vmgroup_drift_total{namespace="$namespace",vcenter=~"$vcenter"}[1h]))`, "{{kind}}"}}},
			{title: "Actions", about: "Actions that vCenter accepted, by cause.", as: areas, unit: perSecond, queries: []query{
				{`sum by (cause) (rate(vmgroup_actions_total{namespace="$namespace",vcenter=~"$vcenter",result="accepted"}[$__rate_interval]))`, "{{cause}}"}}},
			{title: "VMs destroyed", about: "VMs that the operator destroyed, in an hour, by cause.", as: areas, unit: count, queries: []query{
				{`sum by (reason) (increase(vmgroup_vms_destroyed_total{namespace="$namespace",member=~"$member"}[1h]))`, "{{reason}}"}}},
			{title: "Burn of the error budget", about: "Speed at which missing VMs spend the month's budget. Above 1 it is spent before the month ends.",
				unit: count, above: cite(1.0), queries: []query{
					{`max(vmgroup:vms_missing:ratio_avg1h{namespace="$namespace"}) / 0.005`, "1h"},
					{`max(vmgroup:vms_missing:ratio_avg6h{namespace="$namespace"}) / 0.005`, "6h"}}},
		}},
		{"Policies", []panel{
			{title: "Quota in use", about: "Used share of each quota. If its scope is Namespace, that of the fullest namespace.", unit: fraction, above: cite(0.95),
				width: 12, queries: []query{
					{`max by (policy, resource) (vmgroup_quota_used{namespace="$namespace"}) / max by (policy, resource) (vmgroup_quota_hard{namespace="$namespace"})`,
						"{{policy}} {{resource}}"}}},
			{title: "Violations", about: "VmGroups that violate a policy.", as: areas, unit: count, width: 12, queries: []query{
				{`max by (policy) (vmgroup_policy_violations{namespace="$namespace"})`, "{{policy}}"}}},
		}},
	},
}

// quantile of a histogram over all replicas, by more labels if they are given.
func quantile(q, metric, matchers, window string, by ...string) string {
	if matchers != "" {
		matchers = "," + matchers
	}
	labels := "le"
	for _, label := range by {
		labels += ", " + label
	}
	return "histogram_quantile(" + q + ", sum by (" + labels + ") (rate(" + metric + `_bucket{namespace="$namespace"` + matchers + "}[" + window + "])))"
}
