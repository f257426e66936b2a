package main

var replicas = board{
	name: "replicas", title: "VmGroups: replicas and admission",
	about:   "Replicas of the operator, their share of the VmGroups, and the webhooks.",
	filters: []filter{byMember},
	rows: []row{
		{"Replicas", []panel{
			{title: "Buckets by replica", about: "Buckets that each replica holds.", as: areas, unit: count, queries: []query{
				{`sum by (pod) (vmgroup_sharding_owned_buckets{namespace="$namespace"})`, "{{pod}}"}}},
			{title: "Without an owner", about: "Time for which a bucket has had no owner.", unit: seconds, above: cite(30.0), queries: []query{
				{`max(vmgroup_sharding_unowned_seconds{namespace="$namespace"})`, "longest"}}},
			{title: "Validity", about: "Time for which a replica can act without another renewal.", unit: seconds, queries: []query{
				{`vmgroup_sharding_validity_seconds{namespace="$namespace"}`, "{{pod}}"}}},
			{title: "Takeovers", about: "Takeovers of buckets of dead replicas, in an hour.", as: areas, unit: count, queries: []query{
				{`sum by (by) (increase(vmgroup_sharding_takeovers_total{namespace="$namespace"}[1h]))`, "{{by}}"}}},
			{title: "Calls that were not sent", about: "Calls that a replica did not send because its right to act had ended.", as: areas, unit: perSecond, queries: []query{
				{`sum by (reason) (rate(vmgroup_sharding_fence_rejections_total{namespace="$namespace"}[$__rate_interval]))`, "{{reason}}"}}},
			{title: "Leader", about: "1 for the replica that leads.", unit: count, queries: []query{
				{`vmgroup_sharding_leader{namespace="$namespace"}`, "{{pod}}"}}},
		}},
		{"Work", []panel{
			{title: "Queue by member", about: "VmGroups that are due and wait for a worker.", as: areas, unit: count, queries: []query{
				{`sum by (member) (vmgroup_queue_waiting{namespace="$namespace",member=~"$member"})`, "{{member}}"}}},
			{title: "Failed reconciliations", about: "Share of reconciliations that fail.", unit: fraction, above: cite(0.1), queries: []query{
				{`sum by (controller) (rate(controller_runtime_reconcile_errors_total{namespace="$namespace"}[10m]))` +
					` / sum by (controller) (rate(controller_runtime_reconcile_total{namespace="$namespace"}[10m]))`, "{{controller}}"}}},
			{title: "Wait for hub writes", about: "Share of time for which writes on the hub wait for the budget of a member.", unit: fraction, queries: []query{
				{`sum by (member) (rate(vmgroup_hub_write_wait_seconds_total{namespace="$namespace",member=~"$member"}[$__rate_interval]))`, "{{member}}"}}},
			{title: "Memory", about: "Resident memory of each replica.", unit: dataSize, queries: []query{
				{`process_resident_memory_bytes{namespace="$namespace"} and on (pod) vmgroup_build_info{namespace="$namespace"}`, "{{pod}}"}}},
			{title: "CPU", about: "Cores that each replica uses.", unit: count, queries: []query{
				{`rate(process_cpu_seconds_total{namespace="$namespace"}[$__rate_interval]) and on (pod) vmgroup_build_info{namespace="$namespace"}`, "{{pod}}"}}},
			{title: "Versions", about: "Replicas of each version.", as: grid, unit: count, queries: []query{
				{`count by (version) (vmgroup_build_info{namespace="$namespace"})`, "replicas"}}},
		}},
		{"Members and admission", []panel{
			{title: "Members served by replica", about: "1 while the replica serves the member.", unit: count, queries: []query{
				{`vmgroup_member_up{namespace="$namespace",member=~"$member"}`, "{{member}} {{pod}}"}}},
			{title: "Members with a problem", about: "Reasons why replicas do not serve a member.", as: grid, unit: count, queries: []query{
				{`count by (member, reason) (vmgroup_member_status{namespace="$namespace",member=~"$member"})`, "replicas"}}},
			{title: "Admission in place", about: "1 while the member enforces policies.", unit: count, queries: []query{
				{`max by (member) (vmgroup_member_admission_ready{namespace="$namespace",member=~"$member"})`, "{{member}}"}}},
			{title: "Verdicts", about: "Answers of the webhooks.", as: areas, unit: perSecond, queries: []query{
				{`sum by (verdict) (rate(vmgroup_admission_requests_total{namespace="$namespace",member=~"$member"}[$__rate_interval]))`, "{{verdict}}"}}},
			{title: "Duration of requests", about: "99th percentile of the time until a webhook answers.", unit: seconds, above: cite(1.0), queries: []query{
				{quantile("0.99", "vmgroup_admission_request_duration_seconds", "", "$__rate_interval", "webhook"), "{{webhook}}"}}},
			{title: "Certificates expire in", about: "Time until the certificate of the webhooks and its authority expire.", unit: seconds, queries: []query{
				{`min(vmgroup_admission_serving_certificate_expiration_timestamp_seconds{namespace="$namespace"}) - time()`, "certificate"},
				{`min(vmgroup_admission_ca_expiration_timestamp_seconds{namespace="$namespace"}) - time()`, "authority"}}},
		}},
	},
}
