package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member"
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

// Quota implements webhook.World.
func (k knowledge) Quota(_ context.Context, requester policy.Requester, old, group *v1alpha1.VmGroup) []policy.Violation {
	return k.ledger.Check(requester, old, group)
}

// Preview implements webhook.World.
func (k knowledge) Preview(ctx context.Context, member string, group *v1alpha1.VmGroup) (webhook.Preview, error) {
	preview, err := k.Reconciler.Preview(ctx, member, group)
	return webhook.Preview(preview), err
}

// newLedger makes the ledger of quotas, which every replica runs.
func (op operator) newLedger(hub manager.Manager, reconciler *vmgroup.Reconciler) (*quota.Ledger, error) {
	configMaps, err := corev1client.NewForConfigAndClient(hub.GetConfig(), hub.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make a client for the ledger of quotas: %w", err)
	}
	ledger := quota.New(quota.Options{
		Store: quota.ConfigMaps{Client: configMaps.ConfigMaps(op.namespace)}, World: reconciler.World(),
		Notify: func(uid types.UID) { reconciler.Groups.GroupChanged(string(uid)) }, Now: reconciler.Now,
		Leading: op.replica.Leading, Absent: reconciler.Absent,
	})
	return ledger, hub.Add(ledger)
}

// addAdmission gives members what policy needs at their door, and serves the webhooks where there is a certificate.
func (op operator) addAdmission(hub manager.Manager, world knowledge) error {
	if op.keeper == nil {
		op.admission.opens(world.Policies, nil)
		return nil
	}
	certificates, err := op.certificates(hub)
	if err != nil {
		return err
	}
	op.admission.opens(world.Policies, certificates)
	op.leaving.time = op.webhookDrain
	return errors.Join(
		op.addWebhooks(hub, certificates, world),
		hub.AddReadyzCheck("webhooks", hub.GetWebhookServer().StartedChecker()),
		hub.AddReadyzCheck("certificate", op.keeper.Check),
		hub.AddReadyzCheck("leaving", op.leaving.check),
	)
}

// addWebhooks serves the webhooks on this replica, whether it leads or not.
func (op operator) addWebhooks(hub manager.Manager, certificates *trust.Leader, world knowledge) error {
	reader := hub.GetClient()
	return webhook.Register(op.leaving.on(hub.GetWebhookServer()), webhook.Options{
		World: world, Hub: reader, Namespace: op.namespace, Log: ctrl.Log.WithName("webhook"),
		Segment: func(name string) (string, bool) {
			mc := &v1alpha1.MemberCluster{}
			if err := reader.Get(context.Background(), client.ObjectKey{Name: name}, mc); err != nil {
				return "", false
			}
			return certificates.Segment(mc.Name, mc.UID)
		},
		PolicyImpact: func(ctx context.Context, changed *v1alpha1.VmGroupPolicy) (matched, broken int, known bool) {
			matched, broken, err := policycontroller.Impact(ctx, changed, world.Judge)
			return matched, broken, err == nil
		},
		CheckKubeconfig: func(content []byte) error {
			_, err := member.ParseKubeconfig(content)
			return err
		},
	})
}
