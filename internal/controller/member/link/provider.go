package link

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/join"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/leave"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/renewal"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/controller/passes"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
)

// stopPatience is how long the Provider waits for its connections to end when the manager stops.
const stopPatience = 10 * time.Second

// Provider connects to members and engages them with the multicluster manager under the names of their
// MemberClusters. It is safe for concurrent use, and none of its methods except Start wait for a member.
type Provider struct {
	opts settings.Options
	log  logr.Logger

	// ctx is the lifetime of all connections. It begins with the Provider, since the MemberCluster controller can request a
	// connection before the manager has started the Provider, and ends with Start.
	ctx     context.Context
	cancel  context.CancelFunc
	started chan struct{}
	once    sync.Once

	mu          sync.RWMutex
	aware       multicluster.Aware
	connections map[string]*connection // the newest incarnation by member name
	identities  identities
	marks       map[string]mark                                         // by member name
	queue       workqueue.TypedRateLimitingInterface[reconcile.Request] // notifies the controller of MemberClusters

	// everyMember has the MemberCluster controller reconcile every MemberCluster.
	everyMember passes.All
}

var (
	_ multicluster.Provider         = &Provider{}
	_ multicluster.ProviderRunnable = &Provider{}
)

// NewProvider returns a Provider that connects to nothing yet. Pass it to the multicluster manager, which
// starts it, and then to the controller of MemberClusters. It fails when required options are missing.
func NewProvider(opts settings.Options) (*Provider, error) {
	opts, err := opts.WithDefaults()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Provider{
		opts:        opts,
		log:         ctrl.Log.WithName("member"),
		ctx:         ctx,
		cancel:      cancel,
		started:     make(chan struct{}),
		connections: map[string]*connection{},
		identities:  newIdentities(),
		marks:       map[string]mark{},
		everyMember: passes.NewAll(),
	}
	opts.Fleet.SubscribeMembers(p)
	opts.Fleet.SubscribePolicies(policiesSink{p})
	return p, nil
}

// Start lets connections begin and blocks until ctx ends; then it ends all of them. Claims stay for the next process. The
// multicluster manager calls it.
func (p *Provider) Start(ctx context.Context, aware multicluster.Aware) error {
	p.mu.Lock()
	p.aware = aware
	p.mu.Unlock()
	p.once.Do(func() { close(p.started) })
	<-ctx.Done()
	p.cancel()

	p.mu.Lock()
	running := make([]*connection, 0, len(p.connections))
	for _, c := range p.connections {
		c.endLocked()
		running = append(running, c)
	}
	p.mu.Unlock()
	patience := time.After(stopPatience)
	for _, c := range running {
		select {
		case <-c.done:
		case <-patience:
			return fmt.Errorf("the connection to member %q did not end within %s", c.target.Name, stopPatience)
		}
	}
	return nil
}

// Get returns the cluster of an engaged member, or [multicluster.ErrClusterNotFound].
func (p *Provider) Get(_ context.Context, name multicluster.ClusterName) (cluster.Cluster, error) {
	_, is, err := p.engaged(string(name))
	return is.cluster, err
}

// IndexField implements multicluster.Provider. No caller searches the caches of members by a field.
func (p *Provider) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return errors.New("the caches of members have no indexes")
}

// Deliver implements fleet.Sink: the state of a member has changed. It is cheap at any call rate: status is written at most
// every Timings.Counts.
func (p *Provider) Deliver(member string, _ fleet.Reason) { p.notify(member) }

// policiesSink has the admission objects of all members rendered again after a change of policies.
type policiesSink struct{ provider *Provider }

// Deliver implements fleet.Sink.
func (s policiesSink) Deliver(struct{}, fleet.Reason) { s.provider.AdmissionChanged() }

// Leading reports whether this replica leads.
func (p *Provider) Leading() bool {
	return p.opts.Leader == nil || p.opts.Leader.Leading()
}

// LeadershipChanged notifies the Provider that the answer of Options.Leader changed. It does not block and can be called at any
// time. The MemberCluster controller then reconciles every MemberCluster: a new leader writes what is due and bootstraps
// members; a former leader changes nothing.
func (p *Provider) LeadershipChanged() { p.everyMember.Ask() }

// notify wakes the MemberCluster controller. Before that controller runs, notify has no effect: the controller's first pass
// covers everything.
func (p *Provider) notify(name string) {
	p.mu.RLock()
	queue := p.queue
	p.mu.RUnlock()
	if queue != nil {
		queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
	}
}

// Source has the controller of MemberClusters, which hub lists, reconcile members with news.
func (p *Provider) Source(hub client.Reader) source.Source {
	all := p.everyMember.Of(hub, &v1alpha1.MemberClusterList{})
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.queue = queue
		return all.Start(ctx, queue)
	})
}

// Options are those that the Provider was created with.
func (p *Provider) Options() *settings.Options { return &p.opts }

// StoreTokens sets the Store of renewed tokens, which can need the manager that this Provider is for. Call it before Start.
func (p *Provider) StoreTokens(store *renewal.Store) { p.opts.Tokens = store }

// Render sets the Renderer, which can need the manager that this Provider is for. Call it before Start.
func (p *Provider) Render(renderer install.Renderer) { p.opts.Renderer = renderer }

// Ensure makes target the wanted state of its member: it keeps the connection that has target's fingerprint, or replaces it. A
// connection that is kept gets target's tokens. If it has not reached the member yet, another token starts a new attempt immediately.
// commissioned is true if this replica leads and has set the finalizer; see connection.Leading.
func (p *Provider) Ensure(target settings.Target, commissioned bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	current := p.connections[target.Name]
	if current == nil || current.seen.State.ends() || current.target.Fingerprint != target.Fingerprint {
		p.replaceLocked(target, commissioned)
		return
	}
	renewed := current.target.Renew(&target)
	if renewed && !current.seen.State.hasCaches() {
		p.replaceLocked(target, commissioned)
		return
	}
	current.settings = target.Settings
	current.shareLocked()
	due := commissioned && !current.seen.Commissioned
	if !commissioned && current.seen.Commissioned {
		// The next leader can write another CA bundle, so the bundle that this replica saw accepted is outdated.
		current.term++
		current.seen.Admission, current.seen.Acknowledged = nil, nil
	}
	current.seen.Commissioned = commissioned
	changedAdmission := current.admission != target.Admission
	current.admission = target.Admission
	if due {
		current.Wake()
	}
	if due || changedAdmission {
		current.keeper.Wake()
	}
	if due || renewed {
		current.renewer.Wake()
	}
}

// replaceLocked begins a new incarnation, and ends the previous one. The caller holds the lock.
func (p *Provider) replaceLocked(target settings.Target, commissioned bool) {
	current := p.connections[target.Name]
	next := newConnection(p, target, current)
	next.seen.Commissioned = commissioned
	if current != nil {
		current.endLocked()
	}
	p.connections[target.Name] = next
	go next.run()
}

// Stop ends the connection of a member. Its identity stays known.
func (p *Provider) Stop(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.connections[name]; c != nil {
		c.endLocked()
	}
}

// Leave disengages the member, and then cleans it up and releases the claim, in an incarnation of its own. It is called
// repeatedly, and returns done once that is finished. target.Config can be nil: then the last known identities are used. Only
// the leader calls it. A replica that loses leadership in between gives up, and begins again when it leads again.
func (p *Provider) Leave(target settings.Target) (done bool, how leave.Departure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	current := p.connections[target.Name]
	if current != nil && current.target.Leaving && (current.seen.State != Ended || p.ctx.Err() != nil) {
		return current.seen.State == Left, current.how
	}
	if current != nil {
		if target.Config == nil {
			target.Config, target.Token = current.target.Config, current.target.Token
		}
		if target.Bootstrap == nil {
			target.Bootstrap, target.BootstrapToken = current.target.Bootstrap, current.target.BootstrapToken
		}
	}
	target.Leaving = true
	p.replaceLocked(target, true)
	return false, leave.Departure{}
}

// Forget ends the connection of a deleted MemberCluster and allows a younger one of the same cluster to connect.
func (p *Provider) Forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.marks, name)
	if c := p.connections[name]; c != nil {
		c.endLocked()
		// A connection that has not ended stays, so that a re-created MemberCluster of that name waits for it; its end calls the
		// controller again.
		if s := c.seen.State; s == Left || s == Ended {
			delete(p.connections, name)
		}
	}
	if known, ok := p.identities.known[name]; ok {
		delete(p.identities.known, name)
		p.wakeLocked(name, known.ClusterUID)
	}
}

// Seed records the cluster of a MemberCluster according to the hub. This is valid on every replica, whatever it reaches itself.
func (p *Provider) Seed(name string, granted join.Identity) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.identities.known[name]
	if before == granted {
		return
	}
	if granted.ClusterUID == "" {
		delete(p.identities.known, name)
	} else {
		p.identities.known[name] = granted
	}
	for _, changed := range []string{before.ClusterUID, granted.ClusterUID} {
		if changed != "" {
			p.wakeLocked(name, changed)
		}
	}
}

// Shown implements join.Shown: it is the cluster that answered the newest connection of a MemberCluster, "" if none has.
func (p *Provider) Shown(name string, uid types.UID) string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if c := p.connections[name]; c != nil && !c.seen.State.ends() && c.target.UID == uid {
		return c.seen.ClusterUID
	}
	return ""
}

// Observe returns the observation of a member's newest connection; of one that ends, only its state.
func (p *Provider) Observe(name string) Observation {
	p.mu.RLock()
	defer p.mu.RUnlock()
	switch c := p.connections[name]; {
	case c == nil:
		return Observation{}
	case c.seen.State.ends():
		return Observation{State: c.seen.State}
	default:
		return c.seen
	}
}

// acquire makes c the connection that serves its cluster, or returns the MemberCluster with precedence.
func (p *Provider) acquire(c *connection, clusterUID string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.seen.State.ends() {
		return memberapi.ErrEnded
	}
	name := c.target.Name
	if elder := p.identities.first(name, p.identities.of(c, clusterUID)); elder != "" {
		return join.Duplicate(elder)
	}
	if other := p.identities.serving[clusterUID]; other != nil && other != c {
		p.wakeLocked(name, clusterUID) // it observes c and releases the cluster, which wakes c
		return handover(other.target.Name)
	}
	p.identities.serving[clusterUID] = c
	return nil
}

// elder returns the MemberCluster with precedence over c for the cluster that c serves, "" if there is none.
func (p *Provider) elder(c *connection, clusterUID string) string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.identities.first(c.target.Name, p.identities.of(c, clusterUID))
}

// release undoes acquire, and wakes the connections that wait for it.
func (p *Provider) release(c *connection, clusterUID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.identities.serving[clusterUID] == c {
		delete(p.identities.serving, clusterUID)
		p.wakeLocked(c.target.Name, clusterUID)
	}
}

// wakeLocked wakes the connections of the other MemberClusters of one cluster.
func (p *Provider) wakeLocked(name, clusterUID string) {
	for _, other := range p.identities.others(name, clusterUID) {
		if c := p.connections[other]; c != nil {
			c.Wake()
		}
	}
}
