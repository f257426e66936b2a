package member

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/link"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

// oneBucket is a shard map with one bucket.
type oneBucket struct{}

func (oneBucket) Bucket(sharding.Key) int { return 0 }

func (oneBucket) Holds(sharding.Key) bool { return true }

// sinkFunc is a subscriber.
type sinkFunc[K comparable] func(K)

func (s sinkFunc[K]) Deliver(key K, _ fleet.Reason) { s(key) }

func newFleet() *fleet.Fleet {
	return fleet.New(clock.RealClock{}, massdeletion.DefaultRules(), oneBucket{})
}

// seesGroups makes a fleet see groups of a member with these numbers of VMs. controllerOf members
// of a fleet; there is no hub.
func controllerOf(t *testing.T, f *fleet.Fleet) *Reconciler {
	t.Helper()
	provider, err := link.NewProvider(settings.Options{Namespace: "operator", InstallationUID: "one", Fleet: f})
	if err != nil {
		t.Fatal(err)
	}
	return New(nil, nil, nil, provider)
}

// Two members join at the same moment, or a user edits one while it joins.
func TestAConflictIsRetriedAndIsNoError(t *testing.T) {
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "alpha", UID: "object"}, Spec: v1alpha1.MemberClusterSpec{ClusterUID: "cluster"}}
	book := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "operator", Name: "vmgroup-operator-members"}}
	var written error
	hub := interceptor.NewClient(clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithObjects(mc, book).Build(), interceptor.Funcs{
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return written },
	})
	r := New(hub, hub, nil, controllerOf(t, newFleet()).provider)
	for why, c := range map[string]struct {
		written error
		failed  bool
	}{
		"a conflict": {apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, book.Name, errors.New("modified")), false},
		"an outage":  {apierrors.NewServiceUnavailable("no etcd"), true},
	} {
		written = c.written
		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(mc)})
		if failed := err != nil; failed != c.failed || !failed && result.RequeueAfter != conflictInterval {
			t.Errorf("%s: %+v, %v", why, result, err)
		}
	}
}

func seesGroups(f *fleet.Fleet, member string, vms ...int32) {
	for i, n := range vms {
		of := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(member, "-", i))}}
		of.Status.Replicas = n
		f.SetGroup(fleet.Ref{Member: member, Namespace: "team", Name: fmt.Sprint(i)}, vsphere.KeyOf(member, string(of.UID)), of, "default")
	}
}

// A member can change the count of its VMs all the time.
func TestCountsOfAMemberAreWrittenOnceInTenSecondsAtMost(t *testing.T) {
	now, f := testNow, newFleet()
	r := controllerOf(t, f)
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}}
	seen := link.Observation{State: link.Engaged, EngagedAt: now}
	// pass runs after a time, and expects the next pass after again; writes is whether it must write.
	pass := func(when string, after, again time.Duration, writes bool) {
		t.Helper()
		now = now.Add(after)
		due, wait := r.countsDue(mc, seen, now)
		if (due != nil) != writes || wait != again {
			t.Errorf("%s: it writes: %t, comes back after %v; want %t, %v", when, due != nil, wait, writes, again)
		}
		if due != nil {
			r.countsAt[mc.Name] = now
			mc.Status.Groups, mc.Status.VMs = int32(due.groups), int32(due.vms)
		}
	}
	pass("engaged now", 0, 10*time.Second, false)
	pass("nothing has changed", 10*time.Second, 0, false)
	seesGroups(f, "team-a", 2)
	pass("a change that comes at once", 0, 0, true)
	for i := range 100 {
		seesGroups(f, "team-a", int32(i))
		pass("changes beside a write", 10*time.Millisecond, r.countsAt[mc.Name].Add(10*time.Second).Sub(now.Add(10*time.Millisecond)), false)
	}
	pass("ten seconds after the write", 9*time.Second, 0, true)
	if mc.Status.Groups != 1 || mc.Status.VMs != 99 {
		t.Errorf("%d groups and %d VMs are counted", mc.Status.Groups, mc.Status.VMs)
	}
}
