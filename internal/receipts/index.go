package receipts

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/internal/configmaps"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// collectInterval is how often the leader looks for receipts that nobody needs any more. One is removed when nothing has been left of it for settledFor.
const collectInterval, settledFor = time.Minute, 10 * time.Minute

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=watch,namespace=system

// IndexOptions are those of an Index. All are required.
type IndexOptions struct {
	// Client of the release namespace.
	Client corev1client.ConfigMapInterface
	// VMs are those of the vCenters.
	VMs VMs
	// Leader says whether this replica removes receipts.
	Leader sharding.Leader
	// Now is the clock.
	Now func() time.Time
}

// VMs are what is known of the VMs of receipts. *observe.Sources implements it.
type VMs interface {
	// ReceiptSettled reports whether certainly none of the VMs of a receipt is left that another group could take. What is not known is not settled.
	ReceiptSettled(context.Context, Receipt) bool
}

// Index knows from a watch for which groups there are receipts. It is for reports, which may be a moment late: who takes VMs asks the Store. It is safe for
// concurrent use, and a Runnable of the manager.
type Index struct {
	opts  IndexOptions
	store Store

	mu sync.Mutex
	// receipts by the name of their ConfigMap.
	receipts map[string]Receipt
	// settled is since when nothing is left of a receipt.
	settled map[Key]time.Time
}

// NewIndex returns one that knows of nothing yet.
func NewIndex(opts IndexOptions) *Index {
	return &Index{opts: opts, store: &ConfigMaps{Client: opts.Client}, receipts: map[string]Receipt{}, settled: map[Key]time.Time{}}
}

// Keeps reports whether the VMs of a group were kept, or are being taken by another group. Those of a group that was forgotten were not: if they
// come back, somebody has to be told.
func (x *Index) Keeps(key Key) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	r, has := x.receipts[Name(key)]
	return has && (r.Cause != Forgotten || r.AdoptedBy != nil)
}

// Of returns the receipt of a group, or false if none is known.
func (x *Index) Of(key Key) (Receipt, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r, has := x.receipts[Name(key)]
	return r, has
}

// Sum is the number of receipts of groups of a member with this cluster UID, and how many bytes they take.
func (x *Index) Sum(member string) (n, bytes int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range x.receipts {
		if r.MemberUID == member {
			n, bytes = n+1, bytes+r.Bytes()
		}
	}
	return n, bytes
}

// Collect removes, on the leader, the receipts of VMs that are gone, or another group's. That a vCenter is gone is a hub administrator's word, so receipts of groups
// that were forgotten stay for a hub administrator to delete.
func (x *Index) Collect(ctx context.Context) {
	if !x.opts.Leader.Leading() {
		return
	}
	x.mu.Lock()
	all := make([]Receipt, 0, len(x.receipts))
	for _, r := range x.receipts {
		all = append(all, r)
	}
	x.mu.Unlock()
	now, settled := x.opts.Now(), map[Key]time.Time{}
	for _, r := range all {
		if r.Cause == Forgotten && r.AdoptedBy == nil || !x.opts.VMs.ReceiptSettled(ctx, r) {
			continue
		}
		key := r.Key()
		since, known := x.settled[key]
		if !known {
			since = now
		}
		if settled[key] = since; now.Sub(since) < settledFor {
			continue
		}
		if err := x.store.Remove(ctx, key); err != nil {
			log.FromContext(ctx).Error(err, "A receipt that nobody needs any more could not be removed; it is tried again", "receipt", Name(key))
			continue
		}
		log.FromContext(ctx).Info("A receipt was removed: its VMs are gone, or another group's", "receipt", Name(key), "groupUID", r.GroupUID)
	}
	x.settled = settled
}

// NeedLeaderElection makes a manager run it on every replica.
func (x *Index) NeedLeaderElection() bool { return false }

// Start watches the receipts, and removes those that nobody needs, until ctx ends.
func (x *Index) Start(ctx context.Context) error {
	configmaps.Keep(ctx, x.watch, x.Collect, collectInterval)
	return nil
}

func (x *Index) watch(ctx context.Context) {
	component.Watch(ctx, x.opts.Client, watcher{ctx, x})
}

// watcher takes what a watch of the receipts tells. The log is that of its context.
type watcher struct {
	context.Context
	x *Index
}

func (w watcher) Seen(object *corev1.ConfigMap) { w.x.seen(w, object) }
func (w watcher) Gone(object *corev1.ConfigMap) { w.x.drop(object.Name) }
func (watcher) Synced()                         {}

// seen takes a ConfigMap. One that cannot be read is said once for each change of it.
func (x *Index) seen(ctx context.Context, object *corev1.ConfigMap) {
	r, err := decode(object)
	var unreadable *UnreadableError
	if errors.As(err, &unreadable) {
		log.FromContext(ctx).Error(unreadable, "A receipt cannot be read", "configMap", object.Name)
		x.drop(object.Name)
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.receipts[object.Name] = r
}

func (x *Index) drop(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.receipts, name)
}
