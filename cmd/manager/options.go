package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	"github.com/codeconnect/vmgroup-operator/internal/command"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/server"
)

// options are the manager's flags; docs/install.md lists them.
type options struct {
	namespace      string
	metricsAddress string
	metricsSecure  bool
	metricsCerts   string
	probeAddress   string
	webhookHost    string
	webhookPort    int
	hubWebhookPort int
	webhookCerts   string
	webhookDrain   time.Duration
	admissionURL   string
	// segmentPeriod is how long members call by one path.
	segmentPeriod  time.Duration
	podName        string
	podUID         string
	containerName  string
	terminationLog string
	shardBuckets   int
	shardingScale  float64
	// lostReplica is for how long a replica that vanished is taken to answer members still.
	lostReplica time.Duration
	localMember bool
	// guardAge is from which age on VmGroups are guarded against mass deletions.
	guardAge    time.Duration
	workers     int
	memberQPS   float64
	memberBurst int
	// memberMemory is how many MiB the cached objects of one member may need.
	memberMemory    int
	memberAddresses []string
	logLevel        logLevel
	// profiles: those who may get them read profiles of the process.
	profiles bool
}

// operatorCommand runs the operator with the options that its flags give.
func operatorCommand(operate func(context.Context, options) error) *cobra.Command {
	o := options{}
	c := &cobra.Command{
		Use: "manager", Short: "Run the VmGroup operator", // without Args, cobra refuses what is no command and suggests one
		Long: "manager is the VmGroup operator; it runs on the hub cluster. Without a command it runs the operator.",
	}
	flags := c.Flags()
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !flags.Changed("webhook-drain") {
			o.webhookDrain = time.Duration(float64(server.LeaveTime) * o.shardingScale)
		}
		if err := o.check(); err != nil {
			return asOperator(err)
		}
		return asOperator(operate(c.Context(), o))
	}
	command.NamespaceFlag(flags, &o.namespace)
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "Address of the metrics endpoint; 0 turns it off.")
	flags.BoolVar(&o.metricsSecure, "metrics-secure", false,
		"Serve metrics by TLS, to those whose token the hub knows and whom its RBAC allows to get /metrics.")
	flags.StringVar(&o.metricsCerts, "metrics-cert-path", "",
		"Directory with tls.crt and tls.key of the metrics endpoint, looked at again when they change. Empty means a certificate of its own, signed by nobody.")
	flags.BoolVar(&o.profiles, "pprof", false,
		"Serve profiles of this process beside the metrics, to those whom the hub's RBAC allows to get /debug/pprof/*. It needs --metrics-secure.")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "Address of /healthz and /readyz.")
	flags.StringVar(&o.webhookCerts, "webhook-cert-path", "",
		"Directory with tls.crt and tls.key of the webhooks, kept up to date by cert-manager. Empty turns the webhooks off.")
	flags.IntVar(&o.webhookPort, "webhook-port", 9443, "Port of the webhooks.")
	flags.IntVar(&o.hubWebhookPort, "hub-webhook-port", 9444,
		"Port of the webhooks of the hub's own kinds. Whoever reaches it can ask them, so let only the hub's API servers do so.")
	flags.DurationVar(&o.segmentPeriod, "webhook-segment-period", trust.DefaultPeriod,
		"After how long members call by another path. Each path holds for two periods, and for longer in a member that cannot be reached.")
	flags.StringVar(&o.webhookHost, "webhook-host", "", "Address that the webhooks listen on; empty means all.")
	flags.DurationVar(&o.webhookDrain, "webhook-drain", server.LeaveTime,
		"For how long a replica that ends goes on answering members, while it says that it is not ready: what is between them and the webhooks needs that long to notice.")
	flags.StringVar(&o.admissionURL, "admission-url", "",
		"URL by which members reach the webhooks where MemberCluster.spec.admission.url says nothing else, for example https://vmgroups.example.com.")
	flags.DurationVar(&o.lostReplica, "lost-replica-wait", trust.DefaultLimits().Lost,
		"For how long a replica that vanished may still answer members, and old certificate authorities stay trusted for it.")
	hostname, _ := os.Hostname()
	flags.StringVar(&o.podName, "pod-name", cmp.Or(os.Getenv("POD_NAME"), hostname), "Name of this replica, for people.")
	flags.StringVar(&o.podUID, "pod-uid", os.Getenv("POD_UID"),
		"UID of this replica's Pod. With it the others see in the Pod's status that this process has ended, and need not wait for its Lease.")
	flags.StringVar(&o.containerName, "container-name", cmp.Or(os.Getenv("CONTAINER_NAME"), "manager"), "Name of this replica's container in its Pod.")
	flags.StringVar(&o.terminationLog, "termination-log", corev1.TerminationMessagePathDefault,
		"The container's terminationMessagePath: what identifies this process is written there, if the file is there. The policy must be File.")
	flags.IntVar(&o.shardBuckets, "shard-buckets", 128,
		"Number of buckets that the replicas divide among themselves. It must be the same for all; change it only while none runs.")
	flags.Float64Var(&o.shardingScale, "sharding-scale", 1,
		"Factor for all times of sharding: with 1 a replica acts for 8s after its last renewal and is given up after 12s. It must be the same for all.")
	flags.BoolVar(&o.localMember, "enable-local-member", false, "Let the hub be a member itself, under the name local.")
	flags.DurationVar(&o.guardAge, "mass-deletion-age", massdeletion.DefaultRules().Age,
		"Age from which on VmGroups are guarded against mass deletions. What is younger never waits and never counts.")
	flags.IntVar(&o.workers, "workers", 16, "Number of VmGroups that are reconciled at a time.")
	flags.Float64Var(&o.memberQPS, "member-qps", 100, "Requests a second to each member's API server.")
	flags.IntVar(&o.memberBurst, "member-burst", 200, "Requests at once to each member's API server.")
	flags.IntVar(&o.memberMemory, "member-memory", remote.DefaultKept>>20,
		"MiB of memory that the cached objects of one member may need; a group of three VMs needs 4 KiB. A member with more is not served.")
	flags.StringSliceVar(&o.memberAddresses, "member-addresses", nil,
		"CIDRs, IP addresses and host names (*.example.com for all below it) of the API servers that members may have. A host name that is not listed is judged by "+
			"what it leads to, and no HTTP proxy is used. Empty means all.")
	flags.Var(&o.logLevel, "log-level", "Lowest level of the lines that are logged, as JSON: debug, info, error, or a number from 1 to 20 for more than debug.")
	return c
}

// massDeletion are the times by which a mass deletion is noticed.
func (o *options) massDeletion() massdeletion.Rules {
	rules := massdeletion.DefaultRules()
	rules.Age = o.guardAge
	return rules
}

// memberLimits bound what members may send.
func (o *options) memberLimits() remote.Limits { return remote.LimitsFor(int64(o.memberMemory) << 20) }

// check says what is wrong with the values of flags, or returns nil.
func (o *options) check() error {
	if o.webhookDrain < 0 {
		return errors.New("--webhook-drain must not be negative")
	}
	if o.shardBuckets < 1 || o.shardBuckets > 4096 {
		return errors.New("--shard-buckets must be between 1 and 4096")
	}
	if o.shardingScale < 0.05 || o.shardingScale > 10 {
		return errors.New("--sharding-scale must be between 0.05 and 10")
	}
	if err := o.checkPorts(); err != nil {
		return err
	}
	if o.segmentPeriod < time.Second {
		return errors.New("--webhook-segment-period must be at least 1s")
	}
	if err := o.checkMetrics(); err != nil {
		return err
	}
	if o.admissionURL != "" && !strings.HasPrefix(o.admissionURL, "https://") {
		return errors.New("--admission-url must begin with https://, as API servers call webhooks by TLS only")
	}
	if o.guardAge < 0 {
		return errors.New("--mass-deletion-age must not be negative")
	}
	if o.lostReplica <= 0 {
		return errors.New("--lost-replica-wait must be positive")
	}
	if o.workers < 1 || o.memberQPS <= 0 || o.memberBurst < 1 || o.memberMemory < 1 {
		return errors.New("--workers, --member-qps, --member-burst and --member-memory must be positive")
	}
	if _, err := remote.ParseAddresses(o.memberAddresses); err != nil {
		return fmt.Errorf("--member-addresses: %w", err)
	}
	return nil
}

func (o *options) checkMetrics() error {
	if o.metricsCerts != "" && !o.metricsSecure {
		return errors.New("--metrics-cert-path needs --metrics-secure")
	}
	if o.profiles && (!o.metricsSecure || o.metricsAddress == "0") {
		return errors.New("--pprof needs --metrics-secure, and metrics that are not turned off")
	}
	return nil
}

func (o *options) checkPorts() error {
	if o.webhookPort < 1 || o.webhookPort > 65535 {
		return errors.New("--webhook-port must be between 1 and 65535")
	}
	if o.hubWebhookPort < 1 || o.hubWebhookPort > 65535 || o.hubWebhookPort == o.webhookPort {
		return errors.New("--hub-webhook-port must be between 1 and 65535, and another one than --webhook-port")
	}
	return nil
}
