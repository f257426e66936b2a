package operator

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/codeconnect/vmgroup-operator/internal/admission/serving"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	policycontroller "github.com/codeconnect/vmgroup-operator/internal/controller/policy"
	"github.com/codeconnect/vmgroup-operator/internal/observe"
	"github.com/codeconnect/vmgroup-operator/internal/server"
	"github.com/codeconnect/vmgroup-operator/internal/webhook"
)

// serveWebhooks returns the servers of both ports of the webhooks. They answer on every replica, leader or not.
func serveWebhooks(on server.Webhooks, hub client.Reader, keeper *serving.Keeper, certificates *trust.Rotator, l *server.Leaving, groups *observe.Reviewer, edits webhook.Edits, offered webhook.Offers) ([]manager.Runnable, error) {
	log := ctrl.Log.WithName("webhook")
	doors, err := webhook.New(webhook.Options{
		Knowledge: groups, Hub: hub, Log: log, Segments: certificates, Impact: policycontroller.Impact{Evaluator: groups},
		Edits: edits, Offers: offered,
	})
	if err != nil {
		return nil, err
	}
	return on.Open(keeper, l, log, doors.Members, doors.Hub)
}
