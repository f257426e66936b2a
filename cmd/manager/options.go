package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
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
	webhookCerts   string
	webhookDrain   time.Duration
	admissionURL   string
	podName        string
	podUID         string
	containerName  string
	terminationLog string
	shardBuckets   int
	shardingScale  float64
	// lostReplica is for how long a replica that vanished is taken to answer members still.
	lostReplica time.Duration
	localMember bool
	workers     int
	memberQPS   float64
	memberBurst int
	zap         zap.Options
}

// usage is printed before the flags.
const usage = `manager is the VmGroup operator; it runs on the hub cluster.

  manager [flags]    run the operator
  manager shards     print which replica holds which share of the groups
  manager check      say whether the operator on this hub is healthy
  manager crds       install, upgrade or remove the hub's CustomResourceDefinitions
  manager version    print the version
  manager render     print what a member with manage: None needs

Flags:
`

func parseOptions(args []string, out io.Writer) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	config.RegisterFlags(flags) // --kubeconfig
	namespaceFlag(flags, &o)
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "Address of the metrics endpoint; 0 turns it off.")
	flags.BoolVar(&o.metricsSecure, "metrics-secure", false,
		"Serve metrics by TLS, to those whose token the hub knows and whom its RBAC allows to get /metrics.")
	flags.StringVar(&o.metricsCerts, "metrics-cert-path", "",
		"Directory with tls.crt and tls.key of the metrics endpoint, looked at again when they change. Empty means a certificate of its own, signed by nobody.")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "Address of /healthz and /readyz.")
	flags.StringVar(&o.webhookCerts, "webhook-cert-path", "",
		"Directory with tls.crt and tls.key of the webhooks, kept up to date by cert-manager. Empty turns the webhooks off.")
	flags.IntVar(&o.webhookPort, "webhook-port", 9443, "Port of the webhooks.")
	flags.StringVar(&o.webhookHost, "webhook-host", "", "Address that the webhooks listen on; empty means all.")
	flags.DurationVar(&o.webhookDrain, "webhook-drain", leaveTime,
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
	flags.IntVar(&o.workers, "workers", 16, "Number of VmGroups that are reconciled at a time.")
	flags.Float64Var(&o.memberQPS, "member-qps", 100, "Requests a second to each member's API server.")
	flags.IntVar(&o.memberBurst, "member-burst", 200, "Requests at once to each member's API server.")
	// What is expected to fail now and then is logged with its cause; where in the code it was noticed helps nobody.
	o.zap.StacktraceLevel = zapcore.PanicLevel
	o.zap.BindFlags(flags)
	if err := parse(flags, args, out, usage); err != nil {
		return o, err
	}
	drainGiven := false
	flags.Visit(func(f *flag.Flag) { drainGiven = drainGiven || f.Name == "webhook-drain" })
	if !drainGiven {
		o.webhookDrain = time.Duration(float64(leaveTime) * o.shardingScale)
	}
	if o.webhookDrain < 0 {
		return o, fmt.Errorf("--webhook-drain must not be negative")
	}
	if o.shardBuckets < 1 || o.shardBuckets > 4096 {
		return o, fmt.Errorf("--shard-buckets must be between 1 and 4096")
	}
	if o.shardingScale < 0.05 || o.shardingScale > 10 {
		return o, fmt.Errorf("--sharding-scale must be between 0.05 and 10")
	}
	if o.webhookPort < 1 || o.webhookPort > 65535 {
		return o, fmt.Errorf("--webhook-port must be between 1 and 65535")
	}
	if o.metricsCerts != "" && !o.metricsSecure {
		return o, fmt.Errorf("--metrics-cert-path needs --metrics-secure")
	}
	if o.admissionURL != "" && !strings.HasPrefix(o.admissionURL, "https://") {
		return o, fmt.Errorf("--admission-url must begin with https://, as API servers call webhooks by TLS only")
	}
	if o.lostReplica <= 0 {
		return o, fmt.Errorf("--lost-replica-wait must be positive")
	}
	if o.workers < 1 || o.memberQPS <= 0 || o.memberBurst < 1 {
		return o, fmt.Errorf("--workers, --member-qps and --member-burst must be positive")
	}
	return o, nil
}

func namespaceFlag(flags *flag.FlagSet, o *options) {
	flags.StringVar(&o.namespace, "namespace", cmp.Or(os.Getenv("POD_NAMESPACE"), "vmgroup-operator-system"),
		"Namespace of the operator, where its Secrets, its Leases and the ring are.")
}

// parse reads args; for --help it prints usage and all flags.
func parse(flags *flag.FlagSet, args []string, out io.Writer, usage string) error {
	flags.SetOutput(io.Discard) // errors are told once, by main
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(out)
			_, _ = fmt.Fprint(out, usage)
			flags.PrintDefaults()
			return err
		}
		return fmt.Errorf("%w; see manager --help", err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q; see manager --help", flags.Arg(0))
	}
	return nil
}
