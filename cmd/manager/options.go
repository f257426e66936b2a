package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// options are the manager's flags; docs/install.md lists them.
type options struct {
	namespace      string
	metricsAddress string
	probeAddress   string
	leaderElect    bool
	localMember    bool
	workers        int
	memberQPS      float64
	memberBurst    int
	zap            zap.Options
}

// usage is printed before the flags.
const usage = `manager is the VmGroup operator; it runs on the hub cluster.

  manager [flags]    run the operator
  manager version    print the version
  manager render     print what a member with manage: None needs

Flags:
`

func parseOptions(args []string, out io.Writer) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	config.RegisterFlags(flags) // --kubeconfig
	flags.StringVar(&o.namespace, "namespace", cmp.Or(os.Getenv("POD_NAMESPACE"), "vmgroup-operator-system"),
		"Namespace of the operator, where its Secrets and its Lease are.")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "Address of the metrics endpoint; 0 turns it off.")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "Address of /healthz and /readyz.")
	flags.BoolVar(&o.leaderElect, "leader-elect", true, "Let one replica act at a time. Turn it off only where there is one replica.")
	flags.BoolVar(&o.localMember, "enable-local-member", false, "Let the hub be a member itself, under the name local.")
	flags.IntVar(&o.workers, "workers", 16, "Number of VmGroups that are reconciled at a time.")
	flags.Float64Var(&o.memberQPS, "member-qps", 100, "Requests a second to each member's API server.")
	flags.IntVar(&o.memberBurst, "member-burst", 200, "Requests at once to each member's API server.")
	// What is expected to fail now and then is logged with its cause; where in the code it was noticed helps nobody.
	o.zap.StacktraceLevel = zapcore.PanicLevel
	o.zap.BindFlags(flags)
	flags.SetOutput(io.Discard) // errors are told once, by main
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(out)
			_, _ = fmt.Fprint(out, usage)
			flags.PrintDefaults()
			return o, err
		}
		return o, fmt.Errorf("%w; see manager --help", err)
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q; see manager --help", flags.Arg(0))
	}
	if o.workers < 1 || o.memberQPS <= 0 || o.memberBurst < 1 {
		return o, fmt.Errorf("--workers, --member-qps and --member-burst must be positive")
	}
	return o, nil
}
