//go:build unix

package admission

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/webhookcall"
)

// callerOf calls the webhook of one replica as the API server of a member does.
func callerOf(t *testing.T, member *stack.Cluster, r *stack.Replica) *webhookcall.Caller {
	t.Helper()
	hook, err := operatorsWebhook(t.Context(), member)
	if err != nil {
		t.Fatal(err)
	}
	c, err := webhookcall.New(hook.ClientConfig, r.WebhookAddress())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// untilAllSay waits until the webhook of every replica rejects a group with these words; no words mean that it is
// allowed.
func (p *place) untilAllSay(words string, g *v1alpha1.VmGroup) {
	p.t.Helper()
	for _, r := range world.Replicas {
		c := callerOf(p.t, p.Cluster, r)
		await.Until(p.t, fmt.Sprintf("%s to say %q of %s in %s", r.Name, words, g.Name, p.member), func(ctx context.Context) (bool, error) {
			said, err := c.Judge(ctx, webhookcall.Creation(g))
			if err == nil && (said == "") == (words == "") && strings.Contains(said, words) {
				return true, nil
			}
			return false, fmt.Errorf("it says %q, error %w", said, err)
		})
	}
}

// operatorsWebhook is how a member's API server asks the hub whether to allow a group.
func operatorsWebhook(ctx context.Context, cluster *stack.Cluster) (*admissionregistrationv1.ValidatingWebhook, error) {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := cluster.Get(ctx, client.ObjectKey{Name: "vmgroup-operator"}, configuration); err != nil {
		return nil, err
	}
	if len(configuration.Webhooks) != 1 {
		return nil, fmt.Errorf("there are %d validating webhooks of the operator, want one", len(configuration.Webhooks))
	}
	return &configuration.Webhooks[0], nil
}
