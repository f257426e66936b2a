package metrics

// Metrics of the operator itself: its build, the shards, what it writes on the hub, and admission.
var (
	BuildInfo = define("vmgroup_build_info", Gauge, Everyone, "1, with the version of the operator, its commit and the version of Go.",
		Label{Name: "version"}, Label{Name: "revision"}, Label{Name: "goversion"})

	ShardingOwnedBuckets = define("vmgroup_sharding_owned_buckets", Gauge, Process, "Buckets that this replica holds.")
	ShardingUnowned      = define("vmgroup_sharding_unowned_buckets", Gauge, Everyone, "Buckets that no live replica holds.")
	ShardingUnownedFor   = define("vmgroup_sharding_unowned_seconds", Gauge, Everyone,
		"For how long the bucket that has been without an owner for longest has had none.")
	ShardingGeneration = define("vmgroup_sharding_epoch_generation", Gauge, Everyone,
		"Generation of the shard map, the first part of each epoch. It is raised when the shard map is lost or restored.")
	ShardingWrites   = define("vmgroup_sharding_ring_writes", Gauge, Everyone, "Number of writes of the shard map in its present generation.")
	ShardingValidity = define("vmgroup_sharding_validity_seconds", Gauge, Everyone,
		"Seconds for which this replica can act without another renewal; 0 if it must not act.")
	ShardingLeader   = define("vmgroup_sharding_leader", Gauge, Everyone, "1 if this replica leads.")
	ShardingSessions = define("vmgroup_sharding_sessions", Gauge, Everyone, "Sessions that are not known to have ended, this one included.")
	ShardingTokens   = define("vmgroup_sharding_tokens", Gauge, Process, "Passes that run.")
	ShardingTakeover = define("vmgroup_sharding_takeover_seconds", Histogram, Process,
		"Time from the last renewal of a dead session to the moment when this replica had taken over its buckets.").
		// Buckets are around the timeout of 12 s, and below it for takeovers after a proven death.
		in(0.5, 1, 2, 3, 5, 8, 10, 11, 12, 12.5, 13, 15, 20, 30, 60)
	ShardingTakeovers = define("vmgroup_sharding_takeovers_total", Counter, Process,
		"Takeovers of buckets of dead sessions by this replica: after the Lease ran out (lease), or earlier because of a proven death (proof).",
		oneOf("by", "lease", "proof"))
	ShardingRejections = define("vmgroup_sharding_fence_rejections_total", Counter, Process,
		"Calls with side effects that were not sent, because another replica held the object, or was about to.",
		oneOf("reason", "lost", "yielding", "validity"))
	ShardingRequests = define("vmgroup_sharding_hub_requests_total", Counter, Process, "Requests for Leases and the shard map, by outcome.",
		Label{Name: "request"}, Label{Name: "outcome"})

	HubWrittenBytes = define("vmgroup_hub_written_bytes_total", Counter, Process,
		"Bytes that this replica made the hub's etcd keep because of members, by kind.",
		oneOf("kind", "record", "ledger", "receipt", "event"))
	HubWriteWaits = define("vmgroup_hub_write_wait_seconds_total", Counter, Process,
		"Time that writes on the hub have waited for a member's budget, by member. If several writes wait at the same time, the time of each one is added.",
		object("member"))

	AdmissionRequests = define("vmgroup_admission_requests_total", Counter, Process, "Admission requests, by webhook, member and verdict.",
		Label{Name: "webhook"}, object("member"), admissionVerdict)
	AdmissionDuration = define("vmgroup_admission_request_duration_seconds", Histogram, Process,
		"Time from the head of an admission request to its answer, by webhook.", Label{Name: "webhook"}).
		// Buckets range from answers from memory to the timeout of the API servers.
		in(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5)
	AdmissionOldestAck = define("vmgroup_admission_ca_bundle_oldest_ack_seconds", Gauge, Everyone,
		"For how long the member that is furthest behind has not acknowledged a certificate authority of the webhooks; 0 if none is behind.")
	AdmissionCertificateExpiration = define("vmgroup_admission_serving_certificate_expiration_timestamp_seconds", Gauge, Everyone,
		"When the certificate that the webhooks serve expires.")
	AdmissionCAExpiration = define("vmgroup_admission_ca_expiration_timestamp_seconds", Gauge, Everyone,
		"When the last certificate authority that members trust expires.")
)

var admissionVerdict = oneOf("verdict",
	"allowed", "defaulted", "refused", "unavailable", "panicked", "malformed", "too_large", "too_slow", "no_room", "not_found")
