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

// AuthoritySecretName is where cert-manager keeps the authority that signs serving certificates. Without it, the file
// ca.crt beside the serving certificate says which it is.
const AuthoritySecretName = "vmgroup-operator-ca"

// Offer is what the files of this replica hold. The values must not be changed.
type Offer struct {
	// Leaf is nil when there is none that can be read.
	Leaf *Leaf
	// Authorities are those of ca.crt.
	Authorities []Authority
}

// Events tells people of what does not go by itself. Calls come from one goroutine of the leading replica.
type Events interface {
	// MemberBehind is called once for a member that has not taken a new authority for as long as the overlap, and again
	// when that gets worse: when it begins to fail.
	MemberBehind(ctx context.Context, b Behind)
	// LeafSwitched is called when another serving certificate was chosen; forced names the members that do not accept it.
	LeafSwitched(ctx context.Context, leaf *Leaf, forced []string)
}

// Certificates are what this replica can serve. *serving.Keeper implements it.
type Certificates interface {
	// Offer returns what the files hold now.
	Offer() Offer
	// SetState gets the data of the Secret whenever it changed, and nil once when there is none at start.
	SetState(data map[string][]byte)
}

// Peers are the replicas that live.
type Peers interface {
	// Replicas returns them, this one included.
	Replicas() []Replica
}

// Options of a [Rotator]. All are required unless they say otherwise.
type Options struct {
	// Namespace of the release.
	Namespace string
	// Client reads from the hub's cache and writes to the hub. The cache must hold the Secrets of the namespace and the
	// MemberClusters.
	Client client.Client
	// Informers wake Run when something changes; nil leaves it to Resync and Changed.
	Informers cache.Informers
	// Leader says whether this replica writes. It can be wrong for a moment: writes are compared with what was read.
	Leader       sharding.Leader
	Certificates Certificates
	Peers        Peers
	// AdmissionURL is the base URL of members that do not name one; "" is none.
	AdmissionURL string
	// Random is read once per installation, for the path's key.
	Random io.Reader
	Now    func() time.Time
	Limits Limits
	// Period is how long members call by one segment; 0 is DefaultPeriod.
	Period time.Duration
	// Fixed reports whether a replica of a release may live that knows the segments of period 0 only, and whether one is seen. Members are
	// given what it knows while one may live, but may call by it only where one was seen. nil is never.
	Fixed func() (mayLive, seen bool)
	// Resync is how often everything is looked at although nothing changed.
	Resync time.Duration
	// Events may be nil.
	Events Events
	// Changed, if set, is called when Bundle or Segment may return something else. It must not block.
	Changed func()
	Log     logr.Logger
}

// Rotator runs on every replica: it makes known what the Secret says, and keeps it while the replica leads. It is safe for
// concurrent use.
type Rotator struct {
	opts Options
	// wake ends the wait of Run; it holds one wake-up.
	wake chan struct{}
	// reported are the members that Events was told of.
	reported map[string]bool
	memory   Memory
	// fixedAt is when a replica of an earlier release was last seen.
	fixedAt time.Time
	// had are the segments that members have, and had until a while ago.
	had acknowledged

	mu sync.Mutex
	// known is false until the Secret was looked for.
	known bool
	// version is that of the Secret which was delivered last.
	version string
	// state is the last that was read, what was damaged since filled in from before.
	state    State
	decision Decision
	// doors are the segments by which members may call, and given is the period of those that they were given when doors were made.
	doors map[door]struct{}
	given Period
}

// NewRotator returns a Rotator that does nothing before Run.
func NewRotator(opts Options) *Rotator {
	opts.Period = cmp.Or(opts.Period, DefaultPeriod)
	return &Rotator{opts: opts, wake: make(chan struct{}, 1), reported: map[string]bool{}}
}

// Changed makes Run look again, without blocking: the lead, the files or what replicas publish may have changed.
func (r *Rotator) Changed() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Bundle returns the authorities that members shall trust, as PEM; false while there are none.
func (r *Rotator) Bundle() (bundle []byte, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.opts.Now()
	living := slices.DeleteFunc(slices.Clone(r.state.Authorities), func(a Authority) bool { return !now.Before(a.NotAfter) })
	return EncodeAuthorities(living), len(living) > 0
}

// Segment returns the secret part of the path that a member is to be given now, and its period; false while the key is not known. fixed asks
// for the one that stays, for a member whose objects somebody else applies.
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

// period is the one whose segments members are given now.
func (r *Rotator) period() Period {
	if mayLive, _ := r.fixed(); mayLive {
		return 0
	}
	return PeriodAt(r.opts.Now(), r.opts.Period)
}

func (r *Rotator) fixed() (mayLive, seen bool) {
	if r.opts.Fixed == nil {
		return false, false
	}
	return r.opts.Fixed()
}

// Knows reports whether a member may call by the segment. The time that it takes says nothing of the answer.
func (r *Rotator) Knows(memberName, segment string) bool {
	asked := doorOf(memberName, segment)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.doors[asked]
	return known
}

// Behind returns the members that do not know all authorities, sorted by name, as this replica sees it.
func (r *Rotator) Behind() []Behind {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.decision.Behind)
}

// Waiting is a sentence that says why the certificate in the files is not served yet; "" when it is, or when there is none.
func (r *Rotator) Waiting() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.decision.Waiting
}

// NeedLeaderElection makes a manager run it on every replica.
func (r *Rotator) NeedLeaderElection() bool { return false }

// Run works until ctx ends. What fails is logged and tried again: it is never a reason to end the process.
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

// watch wakes Run when what it reads may have changed.
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
