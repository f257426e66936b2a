package operator

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/serving"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	"github.com/codeconnect/vmgroup-operator/internal/events"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// trustResync is the interval at which the leader checks certificates and acknowledgements without a change.
const trustResync = 30 * time.Second

// newKeeper returns the keeper of the webhooks' certificate, or nil without webhooks.
func newKeeper(o Options) *serving.Keeper {
	if o.WebhookCertificates == "" {
		return nil
	}
	return serving.New(serving.Options{
		Dir: o.WebhookCertificates, Poll: serving.DefaultPoll, Now: time.Now, Log: ctrl.Log.WithName("certificates"),
	})
}

// sharedKeeper is the keeper's certificate, and the certificates that other replicas publish.
type sharedKeeper struct {
	*serving.Keeper
	replica *sharding.Replica
}

// publish publishes this replica's certificate to the other replicas.
func (s sharedKeeper) publish() { s.replica.Publish(trust.PublishedKey, s.Published()) }

// SetState implements trust.Certificates.
func (s sharedKeeper) SetState(data map[string][]byte) {
	s.Keeper.SetState(data)
	s.publish()
}

// Replicas implements trust.Peers. It returns the certificate that each replica publishes.
func (s sharedKeeper) Replicas() []trust.Replica {
	peers := s.replica.Peers()
	out := make([]trust.Replica, 0, len(peers))
	for _, p := range peers {
		out = append(out, trust.Replica{Process: p.Boot, Serving: trust.ParseServing(p.Published[trust.PublishedKey])})
	}
	return out
}

// newCertificates maintains the webhooks' certificate and the authorities that members trust, on every replica. changed is called
// when members must get new ones.
func newCertificates(o Options, hub manager.Manager, members *events.Members, keeper sharedKeeper, changed func()) *trust.Rotator {
	limits := trust.DefaultLimits().Scale(o.ShardingScale)
	limits.Lost = o.LostReplica
	return trust.NewRotator(trust.Options{
		Namespace: o.Namespace, Client: hub.GetClient(), Informers: hub.GetCache(),
		Leader: keeper.replica, Certificates: keeper, Peers: keeper,
		AdmissionURL: o.AdmissionURL, Random: rand.Reader, Now: time.Now,
		Limits: limits, Period: o.SegmentPeriod, Resync: trustResync,
		Events:  certificateEvents{members},
		Changed: changed, Log: ctrl.Log.WithName("certificates"),
	})
}

// certificateEvents reports outdated members with events of their MemberClusters.
type certificateEvents struct{ members *events.Members }

// MemberBehind implements trust.Events.
func (e certificateEvents) MemberBehind(ctx context.Context, b trust.Behind) {
	words := "does not know the current certificate authority of the hub's webhooks yet; the certificate is not switched before it does"
	if b.Broken {
		words = "does not trust the certificate of the hub's webhooks: its calls fail, and its admission.failurePolicy decides"
	}
	if !b.Reachable {
		words += ". The member cannot be reached; see condition Ready"
	}
	e.tell(ctx, b.Member, words)
}

// LeafSwitched implements trust.Events. The log has the switch itself.
func (e certificateEvents) LeafSwitched(ctx context.Context, _ *trust.Leaf, forced []string) {
	for _, member := range forced {
		e.tell(ctx, member, "did not learn in time of the authority of the webhooks' next certificate, and the one in use was about to end: "+
			"another is served now, and the member's calls fail until it can be reached")
	}
}

func (e certificateEvents) tell(ctx context.Context, member, words string) {
	e.members.Warn(ctx, member, v1alpha1.ReasonCABundleBehind, "Trust", fmt.Sprintf("MemberCluster %q %s.", member, words))
}
