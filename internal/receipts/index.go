package receipts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/internal/configmaps"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// collectInterval is how often the leader searches for receipts that are no longer needed. A receipt is removed when it has been settled for settledFor.
const collectInterval, settledFor = time.Minute, 10 * time.Minute

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=watch,namespace=system

// IndexOptions are those of an Index. All are required.
type IndexOptions struct {
	// Client of the release namespace.
	Client corev1client.ConfigMapInterface
	// VMs returns the VMs of the vCenters.
	VMs VMs
	// Leader reports whether this replica removes receipts.
	Leader sharding.Leader
	// Now is the clock.
	Now func() time.Time
}

// VMs reports about the VMs of receipts. *observe.Sources implements it.
type VMs interface {
	// ReceiptSettled reports whether certainly none of the VMs of a receipt is left that another group could adopt. Unknown VMs are not settled.
	ReceiptSettled(context.Context, Receipt) bool
}

// Index caches receipts from a watch. It is for reports, which can be slightly late; an adoption must ask the Store. It is safe for concurrent use, and a Runnable of the
// manager.
type Index struct {
	opts  IndexOptions
	store Store

	mu sync.Mutex
	// receipts by the name of their ConfigMap.
	receipts map[string]Receipt
	// settled is the time since when no VM of a receipt is left.
	settled map[Key]time.Time
}

// NewIndex returns an empty Index.
func NewIndex(opts IndexOptions) *Index {
	return &Index{opts: opts, store: &ConfigMaps{Client: opts.Client}, receipts: map[string]Receipt{}, settled: map[Key]time.Time{}}
}

// Keeps reports whether the VMs of a group were kept, or are being adopted by another group. VMs of a forgotten group were not kept: if they come back, the operator must report
// them.
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

// Sum returns the number of receipts of groups of a member with this cluster UID, and their size in bytes.
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

// Collect removes, on the leader, the receipts of VMs that were deleted or belong to another group. Receipts of forgotten groups stay for a hub administrator to delete, because
// a hub administrator declared the vCenter lost.
func (x *Index) Collect(ctx context.Context) {
	if !x.opts.Leader.Leading() {
		return
	}
	now, settled := x.opts.Now(), map[Key]time.Time{}
	for _, r := range x.all() {
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
			log.FromContext(ctx).Error(err, "Failed to remove an unneeded receipt; the operator retries", "receipt", Name(key))
			continue
		}
		log.FromContext(ctx).Info("Removed a receipt: its VMs were deleted, or belong to another group", "receipt", Name(key), "groupUID", r.GroupUID)
	}
	x.settled = settled
}

// Settle removes the receipts of a VCenter whose VMs are certainly gone, without the delay of [Index.Collect]. The leader calls it before the VCenter is deleted. Receipts of VMs that
// were kept and still exist stay: a VCenter with this name can get them back.
func (x *Index) Settle(ctx context.Context, vcenter string) error {
	for _, r := range x.all() {
		if r.VCenter != vcenter || r.Cause == Forgotten && r.AdoptedBy == nil || !x.opts.VMs.ReceiptSettled(ctx, r) {
			continue
		}
		if err := x.store.Remove(ctx, r.Key()); err != nil {
			return fmt.Errorf("remove receipt %s of a VCenter that is being deleted: %w", Name(r.Key()), err)
		}
	}
	return nil
}

func (x *Index) all() []Receipt {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Values(x.receipts))
}

// NeedLeaderElection makes a manager run the Index on every replica.
func (x *Index) NeedLeaderElection() bool { return false }

// Start watches the receipts, and removes unneeded ones, until ctx ends.
func (x *Index) Start(ctx context.Context) error {
	configmaps.Keep(ctx, x.watch, x.Collect, collectInterval)
	return nil
}

func (x *Index) watch(ctx context.Context) {
	component.Watch(ctx, x.opts.Client, watcher{ctx, x})
}

// watcher processes the events of a watch of the receipts. Its log is that of its context.
type watcher struct {
	context.Context
	x *Index
}

func (w watcher) Seen(object *corev1.ConfigMap) { w.x.seen(w, object) }
func (w watcher) Gone(object *corev1.ConfigMap) { w.x.drop(object.Name) }
func (watcher) Synced()                         {}

// seen processes a ConfigMap. It logs an unreadable one once for each change of the ConfigMap.
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
