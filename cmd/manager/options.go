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
	"github.com/codeconnect/vmgroup-operator/internal/operator"
	"github.com/codeconnect/vmgroup-operator/internal/server"
)

// options are the manager's flags; docs/reference/cli.md lists them.
type options struct {
	operator.Options
	logLevel logLevel
}

// operatorCommand returns the command that runs the operator with the options from its flags.
func operatorCommand(operate func(context.Context, options) error) *cobra.Command {
	o := options{}
	c := &cobra.Command{
		Use: "manager", Short: "Run the VmGroup operator", // without Args, cobra refuses an unknown command and suggests a known one
		Long: "manager is the VmGroup operator; it runs on the hub cluster. Without a command it runs the operator.",
	}
	flags := c.Flags()
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !flags.Changed("webhook-drain") {
			o.WebhookDrain = time.Duration(float64(server.LeaveTime) * o.ShardingScale)
		}
		if err := o.check(); err != nil {
			return asOperator(err)
		}
		return asOperator(operate(c.Context(), o))
	}
	command.NamespaceFlag(flags, &o.Namespace)
	flags.StringVar(&o.Metrics.Address, "metrics-bind-address", ":8080", "Address of the metrics endpoint; 0 turns it off.")
	flags.BoolVar(&o.Metrics.Secure, "metrics-secure", false,
		"Serve metrics by TLS, to those whose token the hub knows and whom its RBAC allows to get /metrics.")
	flags.StringVar(&o.Metrics.Certificates, "metrics-cert-path", "",
		"Directory with tls.crt and tls.key of the metrics endpoint, read again when they change. Empty means a self-signed certificate.")
	flags.BoolVar(&o.Metrics.Profiles, "pprof", false,
		"Serve profiles of this process beside the metrics, to those whom the hub's RBAC allows to get /debug/pprof/*. It needs --metrics-secure.")
	flags.StringVar(&o.ProbeAddress, "health-probe-bind-address", ":8081", "Address of /healthz and /readyz.")
	flags.StringVar(&o.WebhookCertificates, "webhook-cert-path", "",
		"Directory with tls.crt and tls.key of the webhooks, kept up to date by cert-manager. Empty turns the webhooks off.")
	flags.IntVar(&o.Webhooks.MemberPort, "webhook-port", 9443, "Port of the webhooks.")
	flags.IntVar(&o.Webhooks.HubPort, "hub-webhook-port", 9444,
		"Port of the webhooks of the hub's own kinds. Requests are not authenticated, so allow only the hub's API servers to connect.")
	flags.DurationVar(&o.SegmentPeriod, "webhook-segment-period", trust.DefaultPeriod,
		"After how long members call by another path. Each path holds for two periods, and for longer in a member that cannot be reached.")
	flags.StringVar(&o.Webhooks.Host, "webhook-host", "", "Address that the webhooks listen on; empty means all.")
	flags.DurationVar(&o.WebhookDrain, "webhook-drain", server.LeaveTime,
		"How long a replica that ends continues to answer members while it is not ready, so that load balancers have time to notice.")
	flags.StringVar(&o.AdmissionURL, "admission-url", "",
		"URL by which members reach the webhooks where MemberCluster.spec.admission.url says nothing else, for example https://vmgroups.example.com.")
	flags.DurationVar(&o.LostReplica, "lost-replica-wait", trust.DefaultLimits().Lost,
		"How long members continue to trust the old certificate authorities after a replica disappeared, because it may still answer them.")
	hostname, _ := os.Hostname()
	flags.StringVar(&o.PodName, "pod-name", cmp.Or(os.Getenv("POD_NAME"), hostname), "Name of this replica, for people.")
	flags.StringVar(&o.PodUID, "pod-uid", os.Getenv("POD_UID"),
		"UID of this replica's Pod. With it the others see in the Pod's status that this process has ended, and need not wait for its Lease.")
	flags.StringVar(&o.ContainerName, "container-name", cmp.Or(os.Getenv("CONTAINER_NAME"), "manager"), "Name of this replica's container in its Pod.")
	flags.StringVar(&o.TerminationLog, "termination-log", corev1.TerminationMessagePathDefault,
		"The container's terminationMessagePath: what identifies this process is written there, if the file is there. The policy must be File.")
	flags.IntVar(&o.Buckets, "shard-buckets", 128,
		"Number of buckets that the replicas divide among themselves. It must be the same for all; change it only while none runs.")
	flags.Float64Var(&o.ShardingScale, "sharding-scale", 1,
		"Factor for all times of sharding: with 1 a replica acts for 8s after its last renewal and is given up after 12s. It must be the same for all.")
	flags.BoolVar(&o.LocalMember, "enable-local-member", false, "Let the hub be a member itself, under the name local.")
	flags.DurationVar(&o.GuardAge, "mass-deletion-age", massdeletion.DefaultRules().Age,
		"Age from which on VmGroups are guarded against mass deletions. What is younger never waits and never counts.")
	flags.IntVar(&o.Workers, "workers", 16, "Number of VmGroups that are reconciled at a time.")
	flags.Float64Var(&o.MemberQPS, "member-qps", 100, "Maximum number of requests per second to each member's API server, on average.")
	flags.IntVar(&o.MemberBurst, "member-burst", 200, "Maximum number of requests to each member's API server in a burst, above the average rate.")
	flags.IntVar(&o.MemberMemory, "member-memory", remote.DefaultKept>>20,
		"MiB of memory that the cached objects of one member may need; a group of three VMs needs 4 KiB. A member with more is not served.")
	flags.StringSliceVar(&o.MemberAddresses, "member-addresses", nil,
		"CIDRs, IP addresses and host names (*.example.com for all below it) of the API servers that members may have. A host name that is not listed is judged by "+
			"what it leads to, and no HTTP proxy is used. Empty means all.")
	flags.Var(&o.logLevel, "log-level", "Lowest level of the lines that are logged, as JSON: debug, info, error, or a number from 1 to 20 for more than debug.")
	return c
}

// check returns an error for invalid values of flags, or nil.
func (o *options) check() error {
	if o.WebhookDrain < 0 {
		return errors.New("--webhook-drain must not be negative")
	}
	if o.Buckets < 1 || o.Buckets > 4096 {
		return errors.New("--shard-buckets must be between 1 and 4096")
	}
	if o.ShardingScale < 0.05 || o.ShardingScale > 10 {
		return errors.New("--sharding-scale must be between 0.05 and 10")
	}
	if err := o.checkPorts(); err != nil {
		return err
	}
	if o.SegmentPeriod < time.Second {
		return errors.New("--webhook-segment-period must be at least 1s")
	}
	if err := o.checkMetrics(); err != nil {
		return err
	}
	if o.AdmissionURL != "" && !strings.HasPrefix(o.AdmissionURL, "https://") {
		return errors.New("--admission-url must begin with https://, as API servers call webhooks by TLS only")
	}
	if o.GuardAge < 0 {
		return errors.New("--mass-deletion-age must not be negative")
	}
	if o.LostReplica <= 0 {
		return errors.New("--lost-replica-wait must be positive")
	}
	if o.Workers < 1 || o.MemberQPS <= 0 || o.MemberBurst < 1 || o.MemberMemory < 1 {
		return errors.New("--workers, --member-qps, --member-burst and --member-memory must be positive")
	}
	if _, err := remote.ParseAddresses(o.MemberAddresses); err != nil {
		return fmt.Errorf("--member-addresses: %w", err)
	}
	return nil
}

func (o *options) checkMetrics() error {
	if o.Metrics.Certificates != "" && !o.Metrics.Secure {
		return errors.New("--metrics-cert-path needs --metrics-secure")
	}
	if o.Metrics.Profiles && (!o.Metrics.Secure || o.Metrics.Address == "0") {
		return errors.New("--pprof needs --metrics-secure, and metrics that are not turned off")
	}
	return nil
}

func (o *options) checkPorts() error {
	if o.Webhooks.MemberPort < 1 || o.Webhooks.MemberPort > 65535 {
		return errors.New("--webhook-port must be between 1 and 65535")
	}
	if o.Webhooks.HubPort < 1 || o.Webhooks.HubPort > 65535 || o.Webhooks.HubPort == o.Webhooks.MemberPort {
		return errors.New("--hub-webhook-port must be between 1 and 65535, and another one than --webhook-port")
	}
	return nil
}
