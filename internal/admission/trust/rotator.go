package trust

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// AuthoritySecretName is the Secret with cert-manager's authority, which signs serving certificates. Without it, the file ca.crt beside the
// serving certificate names the authority.
const AuthoritySecretName = "vmgroup-operator-ca"

// Offer is the content of this replica's files. The values must not be changed.
type Offer struct {
	// Leaf is nil if no readable leaf exists.
	Leaf *Leaf
	// Authorities are those of ca.crt.
	Authorities []Authority
}

// Events reports problems that need a user. Calls come from one goroutine of the leading replica.
type Events interface {
	// MemberBehind is called once for a member that has not taken a new authority within the overlap, and again when its calls begin to
	// fail.
	MemberBehind(ctx context.Context, b Behind)
	// LeafSwitched is called when another serving certificate was chosen; forced names the members that do not accept it.
	LeafSwitched(ctx context.Context, leaf *Leaf, forced []string)
}

// Certificates are those that this replica can serve. *serving.Keeper implements it.
type Certificates interface {
	// Offer returns the current content of the files.
	Offer() Offer
	// SetState gets the data of the Secret whenever it changed, and nil once if it does not exist at start.
	SetState(data map[string][]byte)
}

// Peers are the live replicas.
type Peers interface {
	// Replicas returns them, this one included.
	Replicas() []Replica
}

// Options of a [Rotator]. All are required unless stated otherwise.
type Options struct {
	// Namespace of the release.
	Namespace string
	// Client reads from the hub's cache and writes to the hub. The cache must hold the MemberClusters and the Secrets of the namespace.
	Client client.Client
	// Informers wake Run after changes. With nil, only Resync and Changed do.
	Informers cache.Informers
	// Leader reports whether this replica writes. It can be wrong for a moment, so each write requires an unchanged Secret.
	Leader       sharding.Leader
	Certificates Certificates
	Peers        Peers
	// AdmissionURL is the base URL of members without their own; "" is none.
	AdmissionURL string
	// Random is read once per installation, for the path's key.
	Random io.Reader
	Now    func() time.Time
	Limits Limits
	// Period is how long members call with one segment; 0 is DefaultPeriod.
	Period time.Duration
	// Resync is the interval between steps without a change.
	Resync time.Duration
	// Events can be nil.
	Events Events
	// Changed, if set, is called when the results of Bundle or Segment possibly changed. It must not block.
	Changed func()
	Log     logr.Logger
}

// Rotator runs on every replica: it publishes the content of the Secret, and maintains the Secret while the replica leads. It is safe for
// concurrent use.
type Rotator struct {
	opts Options
	// wake ends the wait of Run; it holds one wake-up.
	wake chan struct{}
	// reported are the members that were reported to Events.
	reported map[string]bool
	memory   Memory
	// had are the segments that members have, or had until recently.
	had acknowledged

	mu sync.Mutex
	// known is false until the Secret was read.
	known bool
	// version is that of the Secret delivered last.
	version string
	// state is the last one that was read; damaged parts are replaced from earlier states.
	state    State
	decision Decision
	// doors are the segments that members can call with. given is the period of the segments that members had been given when doors was
	// computed.
	doors map[door]struct{}
	given Period
}

// NewRotator returns a Rotator that does nothing before Run.
func NewRotator(opts Options) *Rotator {
	opts.Period = cmp.Or(opts.Period, DefaultPeriod)
	return &Rotator{opts: opts, wake: make(chan struct{}, 1), reported: map[string]bool{}}
}

// Changed makes Run take another step, without blocking: leadership, the files or the data published by replicas possibly changed.
func (r *Rotator) Changed() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Bundle returns the authorities that members must trust, as PEM; false while there are none.
func (r *Rotator) Bundle() (bundle []byte, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.opts.Now()
	living := slices.DeleteFunc(slices.Clone(r.state.Authorities), func(a Authority) bool { return !now.Before(a.NotAfter) })
	return EncodeAuthorities(living), len(living) > 0
}

// Segment returns the secret part of the path that a member must get now, and its period; false while the key is not known. With fixed, it
// returns the segment that never changes, for a member whose objects another tool applies.
func (r *Rotator) Segment(memberName string, uid types.UID, fixed bool) (segment string, period Period, ok bool) {
	if !fixed {
		period = r.period()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.state.PathKey) == 0 {
		return "", 0, false
	}
	return Segment(r.state.PathKey, memberName, uid, period), period, true
}

func (r *Rotator) period() Period { return PeriodAt(r.opts.Now(), r.opts.Period) }

// Knows reports whether a member can call with the segment. Its duration does not reveal the answer.
func (r *Rotator) Knows(memberName, segment string) bool {
	asked := doorOf(memberName, segment)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.doors[asked]
	return known
}

// Behind returns the members that do not trust all authorities, sorted by name, as this replica sees it.
func (r *Rotator) Behind() []Behind {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.decision.Behind)
}

// Waiting returns a sentence with the reason why the certificate in the files is not served yet; "" if it is served, or if there is none.
func (r *Rotator) Waiting() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.decision.Waiting
}

// NeedLeaderElection makes a manager run it on every replica.
func (r *Rotator) NeedLeaderElection() bool { return false }

// Run works until ctx ends. It logs and retries failures: they never end the process.
func (r *Rotator) Run(ctx context.Context) error {
	if err := r.watch(ctx); err != nil {
		return err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		case <-timer.C:
		}
		wait, err := r.step(ctx)
		if err != nil && ctx.Err() == nil {
			r.opts.Log.Error(err, "The certificates of the webhooks were not looked after; trying again", "after", wait)
		}
		timer.Reset(wait)
	}
}

// Start is Run, for a manager.
func (r *Rotator) Start(ctx context.Context) error { return r.Run(ctx) }

// watch wakes Run when its input possibly changed.
func (r *Rotator) watch(ctx context.Context) error {
	if r.opts.Informers == nil {
		return nil
	}
	secrets := toolscache.FilteringResourceEventHandler{
		FilterFunc: func(obj any) bool {
			if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			secret, ok := obj.(*corev1.Secret)
			return ok && secret.Namespace == r.opts.Namespace && (secret.Name == SecretName || secret.Name == AuthoritySecretName)
		},
		Handler: always(r.Changed),
	}
	for obj, handler := range map[client.Object]toolscache.ResourceEventHandler{
		&corev1.Secret{}: secrets, &v1alpha1.MemberCluster{}: always(r.Changed),
	} {
		informer, err := r.opts.Informers.GetInformer(ctx, obj)
		if err == nil {
			_, err = informer.AddEventHandler(handler)
		}
		if err != nil {
			return fmt.Errorf("watch %T: %w", obj, err)
		}
	}
	return nil
}

func always(f func()) toolscache.ResourceEventHandlerFuncs {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { f() }, UpdateFunc: func(any, any) { f() }, DeleteFunc: func(any) { f() },
	}
}
