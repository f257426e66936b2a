package operator

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/server"
)

// Options of the operator. The caller checks them; docs/reference/cli.md says which values are allowed.
type Options struct {
	// Version of the program.
	Version string
	// Namespace of the operator on the hub, where its Secrets, its Leases and the ring are.
	Namespace string
	Metrics   server.Metrics
	// ProbeAddress is where kubelet asks; "0" turns the probes off.
	ProbeAddress string
	Webhooks     server.Webhooks
	// WebhookCertificates is a directory with tls.crt and tls.key of the webhooks. Empty turns the webhooks off.
	WebhookCertificates string
	// WebhookDrain is how long a replica that ends goes on answering members.
	WebhookDrain time.Duration
	// AdmissionURL is where members reach the webhooks, if their MemberCluster says nothing else.
	AdmissionURL string
	// SegmentPeriod is how long members call by one path.
	SegmentPeriod time.Duration
	// PodName is the name of this replica, for people.
	PodName string
	// PodUID and ContainerName identify the container of this process, and TerminationLog is its termination message. Without them the
	// others wait for the Lease of a replica that has died.
	PodUID, ContainerName, TerminationLog string
	// Buckets that the replicas share, and the factor for all times of sharding: the same for all replicas.
	Buckets       int
	ShardingScale float64
	// LostReplica is for how long a replica that vanished is taken to answer members still.
	LostReplica time.Duration
	// LocalMember makes the hub a member, too.
	LocalMember bool
	// GuardAge is from which age on VmGroups are guarded against mass deletions.
	GuardAge time.Duration
	// Workers is how many VmGroups are reconciled at a time.
	Workers int
	// MemberQPS and MemberBurst bound the requests to each member's API server.
	MemberQPS   float64
	MemberBurst int
	// MemberMemory is how many MiB the cached objects of one member may need.
	MemberMemory int
	// MemberAddresses are CIDRs, IP addresses and host names of the API servers that members may have; empty means all.
	MemberAddresses []string
}

// userAgent is how API servers and vCenters see this program.
func (o *Options) userAgent() string { return "vmgroup-operator/" + o.Version }

// massDeletion are the times by which a mass deletion is noticed.
func (o *Options) massDeletion() massdeletion.Rules {
	rules := massdeletion.DefaultRules()
	rules.Age = o.GuardAge
	return rules
}

// memberLimits bound what members may send.
func (o *Options) memberLimits() remote.Limits { return remote.LimitsFor(int64(o.MemberMemory) << 20) }
