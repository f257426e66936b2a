package main

var vcenter = board{
	name: "vcenter", title: "VmGroups: vCenter",
	about:   "What the operator sees of vCenters, and what it asks of them.",
	filters: []filter{byVCenter},
	rows: []row{
		{"Connection", []panel{
			{title: "Reached by replica", about: "1 while the replica reaches the vCenter.", unit: count, queries: []query{
				{`vmgroup_vcenter_up{namespace="$namespace",vcenter=~"$vcenter"}`, "{{vcenter}} {{pod}}"}}},
			{title: "Inventory complete", about: "1 while every replica knows all VMs of the root folder.", unit: count, queries: []query{
				{`min by (vcenter) (vmgroup_vcenter_inventory_complete{namespace="$namespace",vcenter=~"$vcenter"})`, "{{vcenter}}"}}},
			{title: "Status", about: "Reason of condition Ready of each VCenter, with the number of replicas that see it.", as: grid, unit: count, queries: []query{
				{`count by (vcenter, reason) (vmgroup_vcenter_status{namespace="$namespace",vcenter=~"$vcenter"})`, "replicas"}}},
			{title: "VMs", about: "VMs of this installation in the vCenter.", unit: count, queries: []query{
				{`max by (vcenter) (vmgroup_vcenter_vms{namespace="$namespace",vcenter=~"$vcenter"})`, "{{vcenter}}"}}},
			{title: "Orphans and kept VMs", about: "VMs that belong to no VmGroup, and VMs that wait for adoption.", unit: count, queries: []query{
				{`max by (vcenter) (vmgroup_orphaned_vms{namespace="$namespace",vcenter=~"$vcenter"})`, "{{vcenter}} orphans"},
				{`max by (vcenter) (vmgroup_released_vms{namespace="$namespace",vcenter=~"$vcenter"})`, "{{vcenter}} kept"}}},
			{title: "Logins", about: "Logins in an hour.", unit: count, queries: []query{
				{`sum by (vcenter) (increase(vmgroup_vcenter_requests_total{namespace="$namespace",vcenter=~"$vcenter",method="Login"}[1h]))`, "{{vcenter}}"}}},
		}},
		{"Calls", []panel{
			{title: "Calls by method", about: "Calls of the operator to vCenter.", as: areas, unit: perSecond, queries: []query{
				{`sum by (method) (rate(vmgroup_vcenter_requests_total{namespace="$namespace",vcenter=~"$vcenter"}[$__rate_interval]))`, "{{method}}"}}},
			{title: "Failed calls", about: "Calls that failed, by outcome.", as: areas, unit: perSecond, queries: []query{
				{`sum by (code) (rate(vmgroup_vcenter_requests_total{namespace="$namespace",vcenter=~"$vcenter",code!="ok"}[$__rate_interval]))`, "{{code}}"}}},
			{title: "Duration of calls", about: "95th percentile of the time until vCenter answers.", unit: seconds, above: cite(5.0), queries: []query{
				{quantile("0.95", "vmgroup_vcenter_request_duration_seconds", `vcenter=~"$vcenter"`, "$__rate_interval", "class"), "{{class}}"}}},
		}},
		{"Tasks", []panel{
			{title: "Tasks", about: "Tasks that run and tasks that wait for a slot.", as: areas, unit: count, queries: []query{
				{`sum by (state) (vmgroup_vcenter_tasks{namespace="$namespace",vcenter=~"$vcenter"})`, "{{state}}"}}},
			{title: "Slots in use", about: "Running tasks, as a share of the limit of the VCenter.", unit: fraction, queries: []query{
				{`sum by (vcenter) (vmgroup_vcenter_tasks{namespace="$namespace",vcenter=~"$vcenter",state="running"})` +
					` / max by (vcenter) (vmgroup_vcenter_task_limit{namespace="$namespace",vcenter=~"$vcenter"})`, "{{vcenter}}"}}},
			{title: "Oldest task", about: "Time for which the oldest task has run.", unit: seconds, above: cite(3600.0), queries: []query{
				{`max by (vcenter) (vmgroup_vcenter_task_oldest_seconds{namespace="$namespace",vcenter=~"$vcenter"})`, "{{vcenter}}"}}},
			{title: "Duration of tasks", about: "95th percentile of the duration of tasks that succeeded, by kind.", unit: seconds, width: 12, queries: []query{
				{quantile("0.95", "vmgroup_vcenter_task_duration_seconds", `vcenter=~"$vcenter"`, "1h", "kind"), "{{kind}}"}}},
			{title: "Rejected actions", about: "Actions that vCenter rejected, in an hour.", as: areas, unit: count, width: 12, queries: []query{
				{`sum by (action) (increase(vmgroup_actions_total{namespace="$namespace",vcenter=~"$vcenter",result="refused"}[1h]))`, "{{action}}"}}},
		}},
	},
}
