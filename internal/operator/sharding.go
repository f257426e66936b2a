package operator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/hub"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/share"
)

// newReplica makes this process one of those that share the groups. boot is unique to this run.
func newReplica(config *rest.Config, o Options, boot string) (*sharding.Replica, error) {
	log := ctrl.Log.WithName("sharding")
	timings := protocol.DefaultTimings().Scaled(o.ShardingScale)
	client, err := hub.New(config, hub.Options{
		Namespace: o.Namespace, Request: timings.Request, Relist: 5 * timings.Renew, Log: log,
	})
	if err != nil {
		return nil, err
	}
	replica, err := sharding.New(sharding.Options{
		Hub: client, Timings: timings, Buckets: o.Buckets, Boot: boot, Host: o.PodName,
		NewSession: uuid.NewString, Random: rand.Float64, Clock: protocol.SystemClock(), Log: log,
	})
	if err != nil {
		return nil, fmt.Errorf("prepare sharding: %w", err)
	}
	if err := metrics.Registry.Register(replica); err != nil {
		return nil, fmt.Errorf("register the metrics of sharding: %w", err)
	}
	return replica, nil
}

// peers connects replicas to exchange their use of the vCenters' task limits.
type peers struct{ *sharding.Replica }

// Peers implements share.Peers.
func (p peers) Peers() []share.Peer {
	sessions := p.Replica.Peers()
	all := make([]share.Peer, 0, len(sessions))
	for _, s := range sessions {
		all = append(all, share.Peer{Session: s.Session, Self: s.Self, Leader: s.Leader, Published: s.Published})
	}
	return all
}

// Run runs the operator as a replica of the shard map until ctx ends, and shuts down in order. First, no new work begins, calls in flight end,
// and every bucket is given up; meanwhile, callers of the webhooks move to other replicas. Only then the manager ends, which interrupts remaining
// calls.
func (o *Operator) Run(ctx context.Context) error {
	// Both outlive ctx, which ends with the first signal.
	ringCtx, endRing := context.WithCancel(context.WithoutCancel(ctx))
	managerCtx, endManager := context.WithCancel(context.WithoutCancel(ctx))
	defer endManager()
	ringDone := make(chan error, 1)
	go func() { ringDone <- o.replica.Run(ringCtx, o.listener) }()
	go o.shared.Run(ringCtx)
	managerDone := make(chan error, 1)
	go func() { managerDone <- o.manager.Start(managerCtx) }()

	var err error
	select {
	case err = <-managerDone:
	case <-ctx.Done():
		var leaving sync.WaitGroup
		leaving.Go(func() { o.leaving.Leave(managerCtx) })
		if drained := o.replica.Drain(managerCtx); drained != nil {
			ctrl.Log.Error(drained, "Stopping before everything was handed over")
		}
		leaving.Wait()
		endManager()
		err = <-managerDone
	}
	// Calls interrupted with the manager have ended: their buckets can be given up now, too.
	last, cancel := context.WithTimeout(ringCtx, lastWords)
	defer cancel()
	_ = o.replica.Drain(last) // remaining buckets expire
	endRing()
	return errors.Join(err, <-ringDone)
}

const (
	// lastWords limits how long a replica that has stopped working continues to give up its buckets.
	lastWords = 3 * time.Second
	// managerGrace limits the shutdown of the manager, which logs out of the vCenters. With a drain of 20 s and lastWords, it must fit into the
	// Pod's grace period of 45 s.
	managerGrace = 15 * time.Second
)

var errNotJoined = errors.New("the other replicas do not know yet that this one takes a share")

// sharer is the input of sharesWork. *sharding.Replica implements it.
type sharer interface {
	Problem() string
	Joined() bool
}

// sharesWork reports ready once the replica has joined those that share the work, unless a problem keeps it from that. A rolling update continues
// then: another replica takes the buckets that the next terminating replica gives up. Having no buckets does not make it unready. A briefly
// unreachable hub does not either: otherwise, all Pods would become unready at once.
func sharesWork(replica sharer) healthz.Checker {
	var joined atomic.Bool
	return func(*http.Request) error {
		if problem := replica.Problem(); problem != "" {
			return errors.New(problem)
		}
		if !joined.Load() && !replica.Joined() {
			return errNotJoined
		}
		joined.Store(true)
		return nil
	}
}
