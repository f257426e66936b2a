package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/conditions"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/enroll"
	"github.com/codeconnect/vmgroup-operator/internal/term"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// askTime limits the question to a member that can be down.
const askTime = 5 * time.Second

// longestMessage is the number of bytes of a condition's message.
const longestMessage = 2000

func checkCommand(o *Options) *cobra.Command {
	memberContext := ""
	c := &cobra.Command{
		Use: "check NAME", Short: "Tell whether the hub serves a member, and what is wrong if it does not", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return check(c, o, args[0], memberContext) },
	}
	c.Flags().StringVar(&memberContext, "member-context", "", "Context of the member in the kubeconfig. With it, the command also asks the member itself.")
	return c
}

// findMember reads a MemberCluster.
func findMember(ctx context.Context, hub *cluster.Cluster, name string) (*v1alpha1.MemberCluster, error) {
	mc := &v1alpha1.MemberCluster{}
	err := hub.Get(ctx, types.NamespacedName{Name: name}, mc)
	if apierrors.IsNotFound(err) {
		return nil, cluster.Usage("The hub has no MemberCluster %q. kubectl vmgroup member list shows them.", name)
	}
	return mc, cluster.Explain(hub.Context, hub.Config.Host, err)
}

func check(c *cobra.Command, o *Options, name, memberContext string) error {
	contexts, err := cluster.Load(c.Context(), o.flags)
	if err != nil {
		return err
	}
	hub, err := o.findHub(c, contexts)
	if err != nil {
		return err
	}
	mc, err := findMember(c.Context(), hub, name)
	if err != nil {
		return err
	}
	report := &checkReport{out: steps{o.Out, o.style()}, times: o.times()}
	report.conditions(mc)
	if memberContext != "" {
		if err := report.directly(c.Context(), o, contexts, memberContext, mc); err != nil {
			return err
		}
	}
	if report.bad {
		return cluster.NotWell("MemberCluster %q is not well.", name)
	}
	return nil
}

// checkReport prints what is known of a member.
type checkReport struct {
	out   steps
	times term.Times
	bad   bool
}

// titles of the conditions that must be True.
var titles = map[string]string{
	v1alpha1.ConditionReady: "hub to member", v1alpha1.ConditionCredentialsValid: "credentials", v1alpha1.ConditionClaimed: "claim", v1alpha1.ConditionCRDInstalled: "CRD",
	v1alpha1.ConditionAdmissionReady: "admission",
}

func (r *checkReport) conditions(mc *v1alpha1.MemberCluster) {
	if mc.Status.ObservedGeneration != mc.Generation {
		r.line(term.Warn, "operator", "It has not reported on the current spec yet.")
	}
	for _, name := range conditions.OfMember.Good {
		c := meta.FindStatusCondition(mc.Status.Conditions, name)
		if c == nil {
			continue
		}
		switch c.Status {
		case metav1.ConditionTrue:
			r.line(term.OK, titles[name], c.Message)
		case metav1.ConditionFalse:
			r.line(term.Bad, titles[name], r.because(c))
		default:
			r.line(term.Unknown, titles[name], r.because(c))
		}
		r.bad = r.bad || c.Status != metav1.ConditionTrue
	}
	for _, c := range conditions.OfMember.Abnormal(mc.Status.Conditions) {
		r.line(term.Warn, c.Type, r.because(&c))
	}
	if len(mc.Status.Conditions) == 0 {
		r.bad = true
		r.line(term.Unknown, "operator", "It has not reported anything. Check that it runs on the hub.")
	}
	r.line(term.Note, "VmGroups", fmt.Sprintf("%d, with %d VMs, of which %d are ready", mc.Status.Groups, mc.Status.VMs, mc.Status.ReadyVMs))
}

func (r *checkReport) because(c *metav1.Condition) string {
	return conditions.Since(c, r.times) + ": " + c.Message
}

// directly asks the member, to tell whether the way from the hub or the member itself is the trouble.
func (r *checkReport) directly(ctx context.Context, o *Options, contexts *cluster.Contexts, name string, mc *v1alpha1.MemberCluster) error {
	member, err := contexts.Open(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	facts, err := member.Ask(ctx, o.Now)
	switch uid := enroll.UIDOf(mc); {
	case err != nil:
		r.line(term.Bad, "you to member", err.Error())
		r.bad = true
	case uid != "" && facts.UID != uid:
		r.line(term.Bad, "you to member", fmt.Sprintf("Context %q is another cluster (UID %s).", name, facts.UID))
		r.bad = true
	default:
		r.line(term.OK, "you to member", "Kubernetes "+facts.Version+" answers by context "+name)
	}
	return nil
}

func (r *checkReport) line(m term.Mark, title, text string) {
	_, _ = fmt.Fprintf(r.out.out, "%s %-14s %s\n", r.out.style.Mark(m), title, untrusted.Text(text, longestMessage))
}
