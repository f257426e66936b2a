package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/enroll"
)

const (
	// longestName of a MemberCluster; its schema has the same limit.
	longestName = 40
	// leastLifetime is the shortest lifetime of a token that API servers issue, and mostLifetime the longest that the member's policy allows.
	leastLifetime, mostLifetime = 10 * time.Minute, 7 * 24 * time.Hour
)

func memberCommand(o *Options) *cobra.Command {
	c := &cobra.Command{Use: "member", Short: "Join, check and remove member clusters", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(joinCommand(o), prepareCommand(o), listCommand(o), checkCommand(o), revokeCommand(o), tokenCommand(o), leaveCommand(o))
	return c
}

// memberFlags specify the way to a member.
type memberFlags struct {
	context, server, authority string
	lifetime                   time.Duration
}

// add adds the flags, with a default of --token-lifetime.
func (f *memberFlags) add(c *cobra.Command, lifetime time.Duration) {
	flags := c.Flags()
	flags.StringVar(&f.context, "member-context", "", "Context of the member in the kubeconfig. Its credential is used, and not copied.")
	flags.StringVar(&f.server, "server", "", "URL by which the hub reaches the member. The default is the server of the context.")
	flags.StringVar(&f.authority, "certificate-authority-file", "", "File with the authority of the member's certificate. The default is that of the context.")
	flags.DurationVar(&f.lifetime, "token-lifetime", lifetime, "Lifetime of each token that the operator requests, from 10m to 168h.")
}

func (f *memberFlags) check() error {
	if f.lifetime < leastLifetime || f.lifetime > mostLifetime || f.lifetime%time.Second != 0 {
		return cluster.Usage("--token-lifetime must be from 10m to 168h, in whole seconds.")
	}
	return nil
}

// preparation opens the member.
func (f *memberFlags) preparation(ctx context.Context, o *Options, contexts *cluster.Contexts) (*enroll.Preparation, cluster.Facts, error) {
	if err := f.check(); err != nil {
		return nil, cluster.Facts{}, err
	}
	member, err := contexts.Open(f.context)
	if err != nil {
		return nil, cluster.Facts{}, err
	}
	address, err := contexts.Address(f.context, f.server, f.authority)
	if err != nil {
		return nil, cluster.Facts{}, err
	}
	facts, err := member.Ask(ctx, o.Now)
	if err != nil {
		return nil, cluster.Facts{}, err
	}
	return &enroll.Preparation{Member: member, UID: facts.UID, Address: address, Lifetime: f.lifetime}, facts, nil
}

func checkName(name string) error {
	if name == v1alpha1.LocalMember {
		return cluster.Usage("The name local is that of the hub itself. Choose another name.")
	}
	if len(name) > longestName || len(validation.IsDNS1123Label(name)) > 0 {
		return cluster.Usage("The name %q is not valid: a MemberCluster has a name of at most %d lower-case letters, digits and hyphens.", name, longestName)
	}
	return nil
}

type joinOptions struct {
	*Options
	memberFlags
	bundle, webhookURL, failurePolicy string
	wait                              time.Duration
}

func joinCommand(o *Options) *cobra.Command {
	j := joinOptions{Options: o}
	c := &cobra.Command{
		Use: "join NAME", Short: "Make the hub serve a cluster, or complete that", Args: cobra.ExactArgs(1),
		Long: `Creates the operator's identities in the member, requests tokens for them that the operator renews from then on, and creates Secret and
MemberCluster on the hub. A second run changes only what is missing. Nothing is written to disk.`,
		Example: `  # The context edge-8 can create ClusterRoles in the member, the current one can create MemberClusters on the hub
  kubectl vmgroup member join edge-8 --member-context edge-8

  # Two persons: the first has access to the member only, the second to the hub only
  kubectl vmgroup member prepare --context edge-8 > edge-8.yaml
  kubectl vmgroup member join edge-8 --bundle edge-8.yaml`,
		RunE: func(c *cobra.Command, args []string) error { return j.run(c, args[0]) },
	}
	j.add(c, mostLifetime)
	flags := c.Flags()
	flags.StringVar(&j.bundle, "bundle", "", "File that `member prepare` wrote, instead of --member-context.")
	flags.StringVar(&j.webhookURL, "webhook-url", "", "URL by which the member reaches the hub's webhooks (spec.admission.url).")
	flags.StringVar(&j.failurePolicy, "failure-policy", "", "Ignore or Fail: what the member does with requests while it cannot reach the webhooks (spec.admission.failurePolicy).")
	flags.DurationVar(&j.wait, "wait", time.Minute, "How long to wait until the operator serves the member. 0 does not wait.")
	c.MarkFlagsMutuallyExclusive("bundle", "member-context")
	c.MarkFlagsOneRequired("bundle", "member-context")
	return c
}

func (j *joinOptions) run(c *cobra.Command, name string) error {
	ctx := c.Context()
	if err := checkName(name); err != nil {
		return err
	}
	switch v1alpha1.AdmissionFailurePolicy(j.failurePolicy) {
	case "", v1alpha1.AdmissionIgnore, v1alpha1.AdmissionFail:
	default:
		return cluster.Usage("--failure-policy must be Ignore or Fail.")
	}
	contexts, err := cluster.Load(j.flags)
	if err != nil {
		return err
	}
	hub, err := j.hub(c, contexts)
	if err != nil {
		return err
	}
	hubFacts, err := hub.Ask(ctx, j.Now)
	if err != nil {
		return err
	}
	r := &enroll.Registration{
		Hub: hub, Namespace: j.namespace, Name: name, Lifetime: j.lifetime,
		WebhookURL: j.webhookURL, FailurePolicy: v1alpha1.AdmissionFailurePolicy(j.failurePolicy),
	}
	report := &steps{j.Out, j.style()}
	began := j.Now()
	if j.bundle != "" {
		err = j.accept(ctx, r, hubFacts, report)
	} else {
		err = j.join(ctx, r, hubFacts, contexts, report)
	}
	if err != nil || j.wait == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, j.wait)
	defer cancel()
	if err := r.Await(ctx, report); err != nil {
		return err
	}
	_, err = fmt.Fprintf(j.Out, "Joined in %.1f s. Grant it a vCenter next, unless a grant matches it: kubectl --context %s edit vcenter\n", j.Now().Sub(began).Seconds(), hub.Context)
	return err
}

func (j *joinOptions) join(ctx context.Context, r *enroll.Registration, hub cluster.Facts, contexts *cluster.Contexts, report enroll.Reporter) error {
	p, facts, err := j.preparation(ctx, j.Options, contexts)
	if err != nil {
		return err
	}
	if err := enroll.Preflight(ctx, p.Member, hub, facts); err != nil {
		return err
	}
	r.ClusterUID = facts.UID
	j.title(r, p.Address.Server, facts, hub)
	return enroll.Join(ctx, p, r, report)
}

func (j *joinOptions) accept(ctx context.Context, r *enroll.Registration, hub cluster.Facts, report enroll.Reporter) error {
	if err := j.check(); err != nil {
		return err
	}
	content, err := os.ReadFile(j.bundle)
	if err != nil {
		return cluster.Usage("The bundle cannot be read: %v", err)
	}
	b, err := enroll.ReadBundle(content, j.Now())
	if err != nil {
		return err
	}
	if b.ClusterUID == hub.UID {
		return cluster.Usage("The bundle is one of the hub itself. The hub is the MemberCluster named local: set localMember.enabled in the chart.")
	}
	r.ClusterUID = b.ClusterUID
	j.title(r, b.Server, cluster.Facts{UID: b.ClusterUID}, hub)
	return enroll.Accept(ctx, b, r, report)
}

// title prints which cluster joins which hub.
func (j *joinOptions) title(r *enroll.Registration, server string, member, hub cluster.Facts) {
	version := ""
	if member.Version != "" {
		version = ", Kubernetes " + member.Version
	}
	_, _ = fmt.Fprintf(j.Out, "Member    %s at %s%s, UID %s\nHub       %s, installation %s, namespace %s\n", r.Name, server, version, member.UID, r.Hub.Context, hub.UID, r.Namespace)
}
