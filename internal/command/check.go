package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

type checkOptions struct {
	namespace string
	// replicas is the required number of replicas; 0 means the number in the Deployment.
	replicas   int
	deployment string
	strict     bool
	// wait is how long the check is repeated while it fails.
	wait time.Duration
	webhookCheck
}

func checkCommand(version string) *cobra.Command {
	o := checkOptions{}
	c := &cobra.Command{
		Use: "check", Short: "Check whether the operator on this hub is healthy", Args: cobra.NoArgs,
		Long: `manager check reports whether the operator on this hub is healthy, and if not, what to do. It changes nothing.

It fails when the kinds are not served, when there are fewer working replicas than there should be, when groups have no replica, and
when the webhooks do not answer. A VCenter, MemberCluster or VmGroupPolicy that is not Ready is a warning.`,
		RunE: func(c *cobra.Command, _ []string) error { return check(c.Context(), o, c.OutOrStdout()) },
	}
	flags := c.Flags()
	NamespaceFlag(flags, &o.namespace)
	flags.IntVar(&o.replicas, "replicas", 0, "How many replicas must work; 0 means as many as the Deployment wants.")
	flags.StringVar(&o.deployment, "deployment", "vmgroup-operator", "Name of the operator's Deployment.")
	flags.BoolVar(&o.strict, "strict", false, "Let warnings fail the check.")
	flags.DurationVar(&o.wait, "wait", 0, "For how long to look again while something fails.")
	flags.StringVar(&o.url, "webhook-url", "", "URL of the webhooks, for example https://vmgroup-operator-webhook.vmgroup-operator-system.svc. Empty leaves them out.")
	flags.StringVar(&o.ca, "webhook-ca", "", "File with the authorities that may have signed the webhooks' certificate; empty means those of the system.")
	flags.StringVar(&o.serverName, "webhook-server-name", "", "Name that the webhooks' certificate must be for, where it is not the host of the URL.")
	c.AddCommand(checkVCenterCommand(version))
	return c
}

type level int

const (
	fine level = iota
	warning
	failure
)

func (l level) String() string { return [...]string{"ok", "warn", "FAIL"}[l] }

// finding is a line of the check's output.
type finding struct {
	level level
	about string
	says  string
	// todo is the action that the user can take.
	todo string
}

var errUnhealthy = errors.New("the operator is not healthy")

// check runs once, or repeatedly until all is well or the time is up, and prints the result.
func check(ctx context.Context, o checkOptions, out io.Writer) error {
	if o.replicas < 0 || o.wait < 0 {
		return errors.New("--replicas and --wait must not be negative")
	}
	o.url = bracketed(o.url)
	if o.url != "" && !strings.HasPrefix(o.url, "https://") {
		return errors.New("--webhook-url must begin with https://")
	}
	kubeconfig, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("find the hub's API server: %w", err)
	}
	look, err := newLook(kubeconfig, o)
	if err != nil {
		return err
	}
	return look.report(ctx, out)
}

// worstOf returns the worst level; warnings count only if strict.
func worstOf(found []finding, strict bool) level {
	worst := fine
	for _, f := range found {
		worst = max(worst, f.level)
	}
	if worst == warning && !strict {
		return fine
	}
	return worst
}

// report runs all checks, repeats them while they fail and time is left, and prints the last result.
func (l *look) report(ctx context.Context, out io.Writer) error {
	deadline := time.NewTimer(l.wait)
	defer deadline.Stop()
	for {
		found := l.all(ctx)
		worst := worstOf(found, l.strict)
		if worst > fine {
			select {
			case <-deadline.C:
			case <-ctx.Done():
			case <-time.After(time.Second):
				continue
			}
		}
		if err := printFindings(out, found); err != nil {
			return err
		}
		if worst > fine {
			return errUnhealthy
		}
		return nil
	}
}

func printFindings(out io.Writer, found []finding) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range found {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", f.level, untrusted.Text(f.about, maxCell), untrusted.Text(f.says, maxCell))
		if f.todo != "" {
			_, _ = fmt.Fprintf(table, "\t\t-> %s\n", f.todo)
		}
	}
	return table.Flush()
}

func newLook(kubeconfig *rest.Config, o checkOptions) (*look, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	hub, err := client.New(kubeconfig, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to the hub: %w", err)
	}
	return &look{checkOptions: o, config: kubeconfig, hub: hub}, nil
}
