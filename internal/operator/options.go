package operator

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/server"
)

// Options of the operator. The caller checks them; docs/reference/cli.md lists the allowed values.
type Options struct {
	// Version of the program.
	Version string
	// Namespace of the operator on the hub, with its Secrets, its Leases and the shard map.
	Namespace string
	Metrics   server.Metrics
	// ProbeAddress is the address for kubelet's probes; "0" turns the probes off.
	ProbeAddress string
	Webhooks     server.Webhooks
	// WebhookCertificates is a directory with tls.crt and tls.key of the webhooks. Empty turns the webhooks off.
	WebhookCertificates string
	// WebhookDrain is how long a terminating replica keeps answering members.
	WebhookDrain time.Duration
	// AdmissionURL is where members reach the webhooks, if their MemberCluster has no other URL.
	AdmissionURL string
	// SegmentPeriod is how long members call with one path.
	SegmentPeriod time.Duration
	// PodName is the name of this replica, for display.
	PodName string
	// PodUID and ContainerName identify the container of this process, and TerminationLog is its termination message file. Without
	// them, the others wait for the Lease of a dead replica.
	PodUID, ContainerName, TerminationLog string
	// Buckets is the number of buckets that the replicas share. ShardingScale is the factor for all times of sharding. Both must be
	// the same for all replicas.
	Buckets       int
	ShardingScale float64
	// LostReplica is how long a vanished replica is assumed to still answer members.
	LostReplica time.Duration
	// LocalMember makes the hub a member, too.
	LocalMember bool
	// GuardAge is the age from which VmGroups are guarded against mass deletions.
	GuardAge time.Duration
	// Workers is how many VmGroups are reconciled at a time.
	Workers int
	// MemberQPS and MemberBurst limit the requests to each member's API server.
	MemberQPS   float64
	MemberBurst int
	// MemberMemory is how many MiB the cached objects of one member can need.
	MemberMemory int
	// MemberAddresses are the allowed CIDRs, IP addresses and host names of members' API servers; empty means all.
	MemberAddresses []string
}

// userAgent returns the name of this program for API servers and vCenters.
func (o *Options) userAgent() string { return "vmgroup-operator/" + o.Version }

// massDeletion returns the times for the detection of a mass deletion.
func (o *Options) massDeletion() massdeletion.Rules {
	rules := massdeletion.DefaultRules()
	rules.Age = o.GuardAge
	return rules
}

func (o *Options) memberLimits() remote.Limits { return remote.LimitsFor(int64(o.MemberMemory) << 20) }
