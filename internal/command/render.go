package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	manifests "github.com/codeconnect/vmgroup-operator/config"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/admission"
	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

type renderOptions struct {
	namespace    string
	admissionURL string
	member       string
	leave        bool
	writers      []string
}

func renderCommand() *cobra.Command {
	o := renderOptions{}
	c := &cobra.Command{
		Use: "render", Short: "Print what a member with manage: None needs, or how to remove the operator from a member", Args: cobra.NoArgs,
		Long: `manager render prints what a member has, ready for kubectl apply.

  manager render                          CRDs, ServiceAccounts and roles of every member
  manager render --member NAME            the admission objects of one member, for a MemberCluster with manage: None
  manager render --leave [--member NAME]  a shell script that removes the operator from a member whose hub is gone`,
		RunE: func(c *cobra.Command, _ []string) error { return render(c.Context(), o, c.OutOrStdout()) },
	}
	flags := c.Flags()
	NamespaceFlag(flags, &o.namespace)
	flags.StringVar(&o.member, "member", "", "Name of the MemberCluster. Its policies and its webhook are read from the hub.")
	flags.BoolVar(&o.leave, "leave", false, "Print how to remove the operator from a member. The hub is not asked.")
	flags.StringVar(&o.admissionURL, "admission-url", "", "As for the manager: where members reach the webhooks, if their MemberCluster says nothing else.")
	flags.StringArrayVar(&o.writers, "writer", nil, "Username in the member that may write VmGroupLimits besides the operator: that of the tool which applies this. "+
		"May be repeated.")
	return c
}

// render prints the objects that users or tools other than the operator must apply to a member, or remove from it.
func render(ctx context.Context, o renderOptions, out io.Writer) (err error) {
	if slices.Contains(o.writers, "") {
		return errors.New("--writer must not be empty")
	}
	switch {
	case o.leave:
		_, err = io.WriteString(out, admission.LeaveScript(o.member))
	case o.member != "":
		err = renderAdmission(ctx, o, out)
	default:
		err = renderBasics(out)
	}
	if err != nil {
		return fmt.Errorf("render: %w", err)
	}
	return nil
}

// renderBasics prints the objects that are the same for all members.
func renderBasics(out io.Writer) error {
	for _, definition := range crd.Member() {
		if err := printDocument(out, definition); err != nil {
			return err
		}
	}
	_, err := io.WriteString(out, manifests.MemberRBAC())
	return err
}

func printDocument(out io.Writer, object any) error {
	content, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s---\n", content)
	return err
}

func renderAdmission(ctx context.Context, o renderOptions, out io.Writer) error {
	kubeconfig, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("find the hub's API server: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	hub, err := client.New(kubeconfig, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	in, notes, err := readAdmission(ctx, hub, o)
	if err != nil {
		return err
	}
	bundle, err := objects.Render(in)
	if err != nil {
		return err
	}
	if bundle.NoWebhook != "" {
		notes = append(notes, "No webhook: "+bundle.NoWebhook)
	}
	return printAdmission(out, o.member, notes, bundle)
}

// printAdmission prints a bundle after notes for the user. The path of the webhook in it is secret.
func printAdmission(out io.Writer, member string, notes []string, bundle objects.Bundle) error {
	notes = append([]string{
		"Admission objects of member " + member + ", as the hub's policies are now: print and apply them again when those or the",
		"certificate authority change. Apply them in this order, after the output of `manager render`.",
		"The webhook configurations contain the path by which the hub knows which member calls. It is no credential, but publish it nowhere: see docs/reference/ports.md.",
	}, notes...)
	if _, err := fmt.Fprintf(out, "# %s\n", strings.Join(notes, "\n# ")); err != nil {
		return err
	}
	for _, object := range bundle.Objects {
		if err := printDocument(out, object.Object); err != nil {
			return err
		}
	}
	return nil
}

// readAdmission reads from the hub the input from which the operator itself would render. notes list missing input.
func readAdmission(ctx context.Context, hub client.Reader, o renderOptions) (in objects.Input, notes []string, err error) {
	mc := &v1alpha1.MemberCluster{}
	if err := hub.Get(ctx, client.ObjectKey{Name: o.member}, mc); err != nil {
		return in, nil, fmt.Errorf("read MemberCluster %s: %w", o.member, err)
	}
	policies := &v1alpha1.VmGroupPolicyList{}
	if err := hub.List(ctx, policies); err != nil {
		return in, nil, fmt.Errorf("read the VmGroupPolicies: %w", err)
	}
	in.Member, in.Exempt, in.Writers = mc.Name, identitiesOf(mc.Name, o.namespace), o.writers
	if in.Limits, err = objects.Compile(policy.Compile(policies.Items), mc.Name); err != nil {
		return in, nil, err
	}
	if in.ServesMutatingPolicies = servesMutatingPolicies(mc.Status.KubernetesVersion); !in.ServesMutatingPolicies {
		notes = append(notes, fmt.Sprintf("No MutatingAdmissionPolicy: the member's Kubernetes version %q is not known to be 1.36 or newer.",
			mc.Status.KubernetesVersion))
	}
	in.WebhookBase = o.admissionURL
	if mc.Spec.Admission != nil {
		in.WebhookBase, in.FailurePolicy = cmp.Or(mc.Spec.Admission.URL, o.admissionURL), mc.Spec.Admission.FailurePolicy
	}
	secret := &corev1.Secret{}
	err = hub.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: trust.SecretName}, secret)
	if client.IgnoreNotFound(err) != nil {
		return in, nil, fmt.Errorf("read Secret %s in namespace %s: %w", trust.SecretName, o.namespace, err)
	}
	if apierrors.IsNotFound(err) {
		return in, notes, nil
	}
	state := trust.ParseState(secret.Data)
	if len(state.PathKey) > 0 {
		in.Segment = trust.Segment(state.PathKey, mc.Name, mc.UID, 0)
	}
	in.CABundle = trust.EncodeAuthorities(state.Authorities)
	return in, notes, nil
}

// identitiesOf returns the ServiceAccounts below config/ that the operator uses in a member.
func identitiesOf(member, namespace string) []string {
	if member == v1alpha1.LocalMember {
		return []string{"system:serviceaccount:" + namespace + ":vmgroup-operator"}
	}
	return []string{
		"system:serviceaccount:vmgroup-operator:vmgroup-operator-member",
		"system:serviceaccount:vmgroup-operator:vmgroup-operator-bootstrap",
	}
}

// servesMutatingPolicies reports whether a Kubernetes of that version serves mutatingadmissionpolicies of
// admissionregistration.k8s.io/v1 by default.
func servesMutatingPolicies(kubernetes string) bool {
	parsed, err := utilversion.ParseGeneric(kubernetes)
	return err == nil && parsed.AtLeast(utilversion.MajorMinor(1, 36))
}
