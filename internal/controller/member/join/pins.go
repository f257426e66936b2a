package join

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// Granted is the cluster that the leader grants to a MemberCluster, "" if none. The leader writes the pin to spec first and then to
// status. A pin that a user wrote, or that was restored from a backup, is valid after the leader has checked it.
func Granted(mc *v1alpha1.MemberCluster) string {
	if mc.Spec.ClusterUID != mc.Status.ClusterUID {
		return ""
	}
	return mc.Spec.ClusterUID
}

// mayHave returns the reason why a MemberCluster cannot have the cluster uid, nil if it can. holder is the name under which the
// hub has registered that cluster, "" if it has not; all are the MemberClusters of the hub.
func mayHave(mc *v1alpha1.MemberCluster, uid, holder string, all []v1alpha1.MemberCluster) *remote.Problem {
	if holder == mc.Name {
		return nil
	}
	for i := range all {
		other := &all[i]
		if other.Name == mc.Name || other.Spec.ClusterUID != uid {
			continue
		}
		if other.Name == holder || holder == "" && IdentityOf(other, uid).Before(other.Name, IdentityOf(mc, uid), mc.Name) {
			return Duplicate(other.Name)
		}
	}
	// A grant stays valid: after a restore, the hub's register can be older than the grant.
	if holder == "" || mc.Annotations[v1alpha1.TakeClusterUIDAnnotation] == uid || mc.Spec.ClusterUID == uid && mc.Status.ClusterUID == uid {
		return nil
	}
	return &remote.Problem{Reason: v1alpha1.ReasonKnownByAnotherName, Lasting: true, Message: fmt.Sprintf(
		"This is the cluster that was MemberCluster %q (its namespace kube-system has UID %s). Nothing is done there. If it is to be "+
			"served under this name from now on, say so: kubectl annotate membercluster %s %s=%s",
		holder, uid, mc.Name, v1alpha1.TakeClusterUIDAnnotation, uid)}
}

// Pins pin each MemberCluster to one cluster permanently. Only the replica that leads writes them.
type Pins struct {
	hub      client.Client
	shown    Shown
	register register
	events   events.EventRecorder

	mu     sync.Mutex
	pinned map[string]pin // entries that this replica has made in the register
}

// Shown returns the cluster that answered the newest connection of a MemberCluster.
type Shown interface {
	// Shown is "" if no cluster has answered.
	Shown(member string, uid types.UID) string
}

// NewPins keeps the register in that namespace of the hub, and reads it with live.
func NewPins(hub client.Client, live client.Reader, namespace string, shown Shown, recorder events.EventRecorder, now func() time.Time) *Pins {
	return &Pins{
		hub: hub, shown: shown, events: recorder, register: register{read: live, write: hub, namespace: namespace, now: now}, pinned: map[string]pin{},
	}
}

// Forget removes a deleted MemberCluster.
func (p *Pins) Forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pinned, name)
}

// Pin pins mc to the first cluster that answered, and returns that cluster. The result is "" if no cluster has answered yet, or if mc
// cannot have it; then refused has the reason. An error beside a cluster does not block the member: the cluster was granted before.
func (p *Pins) Pin(ctx context.Context, mc *v1alpha1.MemberCluster) (uid string, refused *remote.Problem, err error) {
	uid = mc.Spec.ClusterUID
	if uid == "" && mc.DeletionTimestamp.IsZero() {
		uid = p.shown.Shown(mc.Name, mc.UID)
	}
	if uid == "" || p.isPinned(mc, uid) {
		return uid, nil, nil
	}
	list := &v1alpha1.MemberClusterList{}
	if err := p.hub.List(ctx, list); err != nil {
		return "", nil, fmt.Errorf("list MemberClusters: %w", err)
	}
	names := sets.New[string]()
	for i := range list.Items {
		names.Insert(list.Items[i].Name)
	}
	refused, near, err := p.register.enter(ctx, mc.Name, uid, names, func(holder string) *remote.Problem {
		return mayHave(mc, uid, holder, list.Items)
	})
	if near {
		p.events.Eventf(mc, nil, corev1.EventTypeWarning, v1alpha1.EventMembersNearlyFull, "Join", "ConfigMap %q has room for few more clusters. "+
			"Remove the entries of clusters that will never join again. The operator removes those that left a year ago", registerName)
	}
	if full := (*fullError)(nil); errors.As(err, &full) && Granted(mc) == "" {
		refused, err = &remote.Problem{Reason: v1alpha1.ReasonLimitExceeded, Lasting: true, Message: full.Error()}, nil
	}
	if refused != nil {
		return "", refused, nil
	}
	if err == nil {
		err = p.writePin(ctx, mc, uid)
	}
	if err != nil {
		return Granted(mc), nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pinned[mc.Name] = pin{mc.UID, mc.Spec.ClusterUID}
	return uid, nil, nil
}

// pin is the cluster that one MemberCluster object is pinned to.
type pin struct {
	object     types.UID
	clusterUID string
}

// isPinned reports whether the pin of mc needs no write.
func (p *Pins) isPinned(mc *v1alpha1.MemberCluster, uid string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return mc.Spec.ClusterUID == uid && mc.Status.ClusterUID == uid && p.pinned[mc.Name] == pin{mc.UID, uid}
}

// errNoPin means that the hub's API server dropped the pin.
var errNoPin = errors.New("the hub's CRD of MemberCluster has no spec.ClusterUID: apply the operator's CRDs to the hub (`manager crds apply`)")

// writePin stores the pin where it is backed up. Its own field manager protects it from users who apply a manifest without it.
func (p *Pins) writePin(ctx context.Context, mc *v1alpha1.MemberCluster, uid string) error {
	if mc.Spec.ClusterUID != "" || !mc.DeletionTimestamp.IsZero() {
		return nil
	}
	pinned := mc.DeepCopy()
	pinned.Spec.ClusterUID = uid
	patch := client.MergeFromWithOptions(mc, client.MergeFromWithOptimisticLock{})
	if err := p.hub.Patch(ctx, pinned, patch, client.FieldOwner(install.FieldManager)); err != nil {
		return fmt.Errorf("write spec.ClusterUID: %w", err)
	}
	if pinned.Spec.ClusterUID == "" {
		return errNoPin
	}
	pinned.DeepCopyInto(mc)
	return nil
}
