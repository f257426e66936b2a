package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
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
	c := family("member", "Join, check and remove member clusters")
	c.AddCommand(joinCommand(o), prepareCommand(o), listCommand(o), checkCommand(o), revokeCommand(o), tokenCommand(o), leaveCommand(o))
	return c
}

// memberFlags specify the way to a member.
type memberFlags struct {
	context, server, authority string
	// secret has a kubeconfig on the hub, as NAMESPACE/NAME. It replaces context.
	secret   string
	lifetime time.Duration
}

// add adds the flags, with a default of --token-lifetime.
func (f *memberFlags) add(c *cobra.Command, lifetime time.Duration) {
	flags := c.Flags()
	flags.StringVar(&f.context, "member-context", "", "Context of the member in the kubeconfig. Its credential is used, and not copied.")
	flags.StringVar(&f.server, "server", "", "URL by which the hub reaches the member. The default is the server of the context.")
	flags.StringVar(&f.authority, "certificate-authority-file", "", "File with the authority of the member's certificate. The default is that of the context.")
	flags.DurationVar(&f.lifetime, "token-lifetime", lifetime, "Lifetime of each token that the operator requests, from 10m to 168h.")
}

// check validates the flags. A lifetime that was not given is zero afterwards.
func (f *memberFlags) check(c *cobra.Command) error {
	if f.lifetime < leastLifetime || f.lifetime > mostLifetime || f.lifetime%time.Second != 0 {
		return cluster.Usage("--token-lifetime must be from 10m to 168h, in whole seconds.")
	}
	if !c.Flags().Changed("token-lifetime") && c.Name() != "prepare" {
		f.lifetime = 0
	}
	return nil
}

// open opens the member.
func (f *memberFlags) open(ctx context.Context, o *Options, contexts *cluster.Contexts) (*cluster.Cluster, cluster.Facts, error) {
	member, err := contexts.Open(f.context)
	if err != nil {
		return nil, cluster.Facts{}, err
	}
	facts, err := member.Ask(ctx, o.Now)
	return member, facts, err
}

// secretKeys are the keys under which programs store kubeconfigs, Cluster API first.
var secretKeys = []string{"value", "kubeconfig"}

// load reads the kubeconfig of --from-secret from the hub, and makes it the context.
func (f *memberFlags) load(ctx context.Context, hub *cluster.Cluster, contexts *cluster.Contexts) error {
	if f.secret == "" {
		return nil
	}
	namespace, name, ok := strings.Cut(f.secret, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return cluster.Usage("--from-secret must be of the form NAMESPACE/NAME.")
	}
	secret := &corev1.Secret{}
	switch err := hub.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, secret); {
	case apierrors.IsNotFound(err):
		return cluster.Usage("The hub has no Secret %q in namespace %q.", name, namespace)
	case err != nil:
		return cluster.Explain(hub.Context, hub.Config.Host, err)
	}
	for _, key := range secretKeys {
		if content, ok := secret.Data[key]; ok {
			f.context = "Secret " + f.secret
			return contexts.Add(f.context, content)
		}
	}
	return cluster.Usage("Secret %q in namespace %q has no kubeconfig: it has neither key %s.", name, namespace, strings.Join(secretKeys, " nor "))
}

// pair is a member and the hub that is to serve it.
type pair struct {
	*enroll.Preparation
	*enroll.Registration
	member, hub cluster.Facts
}

// pair opens both clusters, and checks that they fit. Without --server, a member that has joined keeps its address.
func (f *memberFlags) pair(c *cobra.Command, o *Options, name string, r enroll.Registration) (*pair, error) {
	ctx := c.Context()
	if err := f.check(c); err != nil {
		return nil, err
	}
	contexts, err := cluster.Load(c.Context(), o.flags)
	if err != nil {
		return nil, err
	}
	hub, err := o.hub(c, contexts)
	if err != nil {
		return nil, err
	}
	hubFacts, err := hub.Ask(ctx, o.Now)
	if err != nil {
		return nil, err
	}
	if err := f.load(ctx, hub, contexts); err != nil {
		return nil, err
	}
	member, facts, err := f.open(ctx, o, contexts)
	if err != nil {
		return nil, err
	}
	if err := enroll.Preflight(ctx, member, hubFacts, facts); err != nil {
		return nil, err
	}
	r.Hub, r.Namespace, r.Name, r.ClusterUID, r.Lifetime = hub, o.namespace, name, facts.UID, f.lifetime
	if err := r.Read(ctx); err != nil {
		return nil, err
	}
	address, err := f.address(ctx, contexts, &r)
	if err != nil {
		return nil, err
	}
	return &pair{&enroll.Preparation{Member: member, UID: facts.UID, Address: address, Lifetime: r.Lifetime}, &r, facts, hubFacts}, nil
}

// address returns how the hub reaches the member.
func (f *memberFlags) address(ctx context.Context, contexts *cluster.Contexts, r *enroll.Registration) (cluster.Address, error) {
	if f.server == "" && f.authority == "" {
		if stored, found, err := r.Address(ctx); err != nil || found {
			return stored, err
		}
	}
	return contexts.Address(f.context, f.server, f.authority)
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

  # A cluster of Cluster API, whose Secret is on the hub
  kubectl vmgroup member join edge-9 --from-secret clusters/edge-9-kubeconfig

  # Two persons: the first has access to the member only, the second to the hub only
  kubectl vmgroup member prepare --context edge-8 --output edge-8.yaml
  kubectl vmgroup member join edge-8 --bundle edge-8.yaml`,
		RunE: func(c *cobra.Command, args []string) error { return j.run(c, args[0]) },
	}
	j.add(c, mostLifetime)
	flags := c.Flags()
	flags.StringVar(&j.secret, "from-secret", "", "Secret on the hub with a kubeconfig of the member, as NAMESPACE/NAME, instead of --member-context. Cluster API stores such Secrets. It is used, and not copied.")
	flags.StringVar(&j.bundle, "bundle", "", "File that `member prepare` wrote, instead of --member-context.")
	flags.StringVar(&j.webhookURL, "webhook-url", "", "URL by which the member reaches the hub's webhooks (spec.admission.url).")
	flags.StringVar(&j.failurePolicy, "failure-policy", "", "Ignore or Fail: what the member does with requests while it cannot reach the webhooks (spec.admission.failurePolicy).")
	flags.DurationVar(&j.wait, "wait", time.Minute, "How long to wait until the operator serves the member. 0 does not wait.")
	c.MarkFlagsMutuallyExclusive("bundle", "member-context", "from-secret")
	c.MarkFlagsMutuallyExclusive("bundle", "server")
	c.MarkFlagsMutuallyExclusive("bundle", "certificate-authority-file")
	c.MarkFlagsOneRequired("bundle", "member-context", "from-secret")
	return c
}

func (j *joinOptions) run(c *cobra.Command, name string) error {
	ctx := c.Context()
	if err := checkName(name); err != nil {
		return err
	}
	r := enroll.Registration{WebhookURL: j.webhookURL, FailurePolicy: v1alpha1.AdmissionFailurePolicy(j.failurePolicy)}
	switch r.FailurePolicy {
	case "", v1alpha1.AdmissionIgnore, v1alpha1.AdmissionFail:
	default:
		return cluster.Usage("--failure-policy must be Ignore or Fail.")
	}
	report, began := &steps{j.Out, j.style()}, j.Now()
	joined := j.join
	if j.bundle != "" {
		joined = j.accept
	}
	of, err := joined(c, name, r, report)
	if err != nil || j.wait == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, j.wait)
	defer cancel()
	if err := of.Await(ctx, report); err != nil {
		return err
	}
	_, err = fmt.Fprintf(j.Out, "Joined in %.1f s. Grant it a vCenter next, unless a grant matches it: kubectl --context %s edit vcenter\n", j.Now().Sub(began).Seconds(), of.Hub.Context)
	return err
}

// join uses the contexts of both clusters.
func (j *joinOptions) join(c *cobra.Command, name string, r enroll.Registration, report enroll.Reporter) (*enroll.Registration, error) {
	both, err := j.pair(c, j.Options, name, r)
	if err != nil {
		return nil, err
	}
	j.title(both.Registration, both.Preparation.Address.Server, both.member, both.hub)
	return both.Registration, enroll.Join(c.Context(), both.Preparation, both.Registration, report)
}

// accept uses the bundle of another person.
func (j *joinOptions) accept(c *cobra.Command, name string, r enroll.Registration, report enroll.Reporter) (*enroll.Registration, error) {
	if err := j.check(c); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(j.bundle)
	if err != nil {
		return nil, cluster.Usage("The bundle cannot be read: %v", err)
	}
	b, err := enroll.ReadBundle(content, j.Now())
	if err != nil {
		return nil, err
	}
	contexts, err := cluster.Load(c.Context(), j.flags)
	if err != nil {
		return nil, err
	}
	hub, err := j.hub(c, contexts)
	if err != nil {
		return nil, err
	}
	facts, err := hub.Ask(c.Context(), j.Now)
	if err != nil {
		return nil, err
	}
	if b.ClusterUID == facts.UID {
		return nil, cluster.Usage("The bundle is one of the hub itself. The hub is the MemberCluster named local: set localMember.enabled in the chart.")
	}
	r.Hub, r.Namespace, r.Name, r.ClusterUID, r.Lifetime = hub, j.namespace, name, b.ClusterUID, j.lifetime
	if err := r.Read(c.Context()); err != nil {
		return nil, err
	}
	j.title(&r, b.Server, cluster.Facts{UID: b.ClusterUID}, facts)
	return &r, enroll.Accept(c.Context(), b, &r, report)
}

// title prints which cluster joins which hub.
func (j *joinOptions) title(r *enroll.Registration, server string, member, hub cluster.Facts) {
	version := ""
	if member.Version != "" {
		version = ", Kubernetes " + member.Version
	}
	_, _ = fmt.Fprintf(j.Out, "Member    %s at %s%s, UID %s\nHub       %s, installation %s, namespace %s\n", r.Name, server, version, member.UID, r.Hub.Context, hub.UID, r.Namespace)
}
