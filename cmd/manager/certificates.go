package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/serving"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// trustResync is how often the leader looks at certificates and acknowledgements although nothing changed.
const trustResync = 30 * time.Second

// segmentsKey and segmentsValue are published by replicas that know that the segments of members take turns.
const (
	segmentsKey   = "segments"
	segmentsValue = "periods"
)

// newKeeper returns what serves the webhooks' certificate, or nil without webhooks.
func newKeeper(o options) *serving.Keeper {
	if o.webhookCerts == "" {
		return nil
	}
	return serving.New(serving.Options{
		Dir: o.webhookCerts, Poll: serving.DefaultPoll, Now: time.Now, Log: ctrl.Log.WithName("certificates"),
	})
}

// sharedKeeper is the keeper's certificate, and what the replicas tell each other of theirs.
type sharedKeeper struct {
	*serving.Keeper
	replica *sharding.Replica
}

// publish tells the other replicas what this one serves.
func (s sharedKeeper) publish() { s.replica.Publish(trust.PublishedKey, s.Published()) }

// SetState implements trust.Certificates.
func (s sharedKeeper) SetState(data map[string][]byte) {
	s.Keeper.SetState(data)
	s.publish()
}

// Replicas implements trust.Peers. It reads what each replica serves from what it publishes.
func (s sharedKeeper) Replicas() []trust.Replica {
	peers := s.replica.Peers()
	out := make([]trust.Replica, 0, len(peers))
	for _, p := range peers {
		out = append(out, trust.Replica{Process: p.Boot, Serving: trust.ParseServing(p.Published[trust.PublishedKey])})
	}
	return out
}

// newCertificates keeps the webhooks' certificate and the authorities that members trust, on every replica. changed is called when
// members should get something else.
func newCertificates(o options, hub manager.Manager, recorder events.EventRecorder, keeper sharedKeeper, changed func()) *trust.Rotator {
	limits := trust.DefaultLimits().Scale(o.shardingScale)
	limits.Lost = o.lostReplica
	return trust.NewRotator(trust.Options{
		Namespace: o.namespace, Client: hub.GetClient(), Informers: hub.GetCache(),
		Leader: keeper.replica, Certificates: keeper, Peers: keeper,
		AdmissionURL: o.admissionURL, Random: rand.Reader, Now: time.Now,
		Limits: limits, Period: o.segmentPeriod, Resync: trustResync,
		Fixed: func() (mayLive, seen bool) {
			seen = olderAmong(true, keeper.replica.Peers(), segmentsKey, segmentsValue)
			return seen || !keeper.replica.Joined(), seen
		},
		Events:  certificateEvents{hub.GetClient(), recorder},
		Changed: changed, Log: ctrl.Log.WithName("certificates"),
	})
}

// certificateEvents tells of members that are behind as events of their MemberClusters.
type certificateEvents struct {
	client   client.Client
	recorder events.EventRecorder
}

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

// LeafSwitched implements trust.Events. That it was switched is in the log.
func (e certificateEvents) LeafSwitched(ctx context.Context, _ *trust.Leaf, forced []string) {
	for _, member := range forced {
		e.tell(ctx, member, "did not learn in time of the authority of the webhooks' next certificate, and the one in use was about to end: "+
			"another is served now, and the member's calls fail until it can be reached")
	}
}

func (e certificateEvents) tell(ctx context.Context, member, words string) {
	memberEvents(e).tell(ctx, member, v1alpha1.ReasonCABundleBehind, "Trust", fmt.Sprintf("MemberCluster %q %s.", member, words))
}

// memberEvents tells of members as events of their MemberClusters.
type memberEvents struct {
	client   client.Client
	recorder events.EventRecorder
}

// tell warns of something; remark says what was asked for and is done.
func (e memberEvents) tell(ctx context.Context, member, reason, action, note string) {
	e.say(ctx, member, corev1.EventTypeWarning, reason, action, note)
}

func (e memberEvents) remark(ctx context.Context) func(member, reason, action, note string) {
	return func(member, reason, action, note string) {
		e.say(ctx, member, corev1.EventTypeNormal, reason, action, note)
	}
}

func (e memberEvents) say(ctx context.Context, member, eventType, reason, action, note string) {
	mc := &v1alpha1.MemberCluster{}
	if err := e.client.Get(ctx, client.ObjectKey{Name: member}, mc); err != nil {
		return // it was deleted meanwhile
	}
	e.recorder.Eventf(mc, nil, eventType, reason, action, "%s", note)
}
