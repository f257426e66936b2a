package main

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	policycontroller "github.com/codeconnect/vmgroup-operator/internal/controller/policy"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/webhook"
)

// knowledge is what the webhooks know beyond a request: what the reconciler knows, and the ledger of quotas.
type knowledge struct {
	*vmgroup.Reconciler
	ledger *quota.Ledger
}

// Quota implements webhook.Knowledge.
func (k knowledge) Quota(ctx context.Context, requester policy.Requester, old, group *v1alpha1.VmGroup) []policy.Violation {
	return k.ledger.Check(ctx, requester, old, group)
}

// serveWebhooks serves them on this replica, whether it leads or not.
func serveWebhooks(server webhook.Server, reader client.Reader, namespace string, certificates *trust.Rotator, groups knowledge) error {
	return webhook.Register(server, webhook.Options{
		Knowledge: groups, Hub: reader, Namespace: namespace, Log: ctrl.Log.WithName("webhook"),
		Segment: func(ctx context.Context, name string) (string, bool) {
			mc := &v1alpha1.MemberCluster{}
			if err := reader.Get(ctx, client.ObjectKey{Name: name}, mc); err != nil {
				return "", false
			}
			return certificates.Segment(mc.Name, mc.UID)
		},
		PolicyImpact: func(ctx context.Context, changed *v1alpha1.VmGroupPolicy) (matched, broken int, known bool) {
			matched, broken, err := policycontroller.Impact(ctx, changed, groups.EvaluateAll)
			return matched, broken, err == nil
		},
		CheckKubeconfig: func(content []byte) error {
			_, err := remote.ParseKubeconfig(content)
			return err
		},
	})
}
