package vmgroup

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// cached reads like an informer's cache: a deep copy of an object in memory. Writes are not allowed.
type cached struct {
	client.Client
	group *v1alpha1.VmGroup
}

// Get returns a copy of the group, or a namespace without labels.
func (c cached) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch into := into.(type) {
	case *v1alpha1.VmGroup:
		c.group.DeepCopyInto(into)
	case *metav1.PartialObjectMetadata:
	default:
		return fmt.Errorf("a %T is not in the cache", into)
	}
	return nil
}

// BenchmarkReconcileWithoutChange is a pass over an up-to-date group: everything from the key to the decision
// that there is nothing to do. A call or a write would panic.
func BenchmarkReconcileWithoutChange(b *testing.B) {
	r := newRig(b)
	group := r.settle()
	r.Clusters = testCluster{client: cached{group: group}}
	r.Hub = cachedVCenter{}
	r.vcenter.ClearJournal()
	b.ReportAllocs()
	for b.Loop() {
		if result, err := r.pass(); err != nil || result.RequeueAfter != 0 {
			b.Fatal(result, err)
		}
	}
	if calls := r.vcenter.Journal(); len(calls) != 0 {
		b.Errorf("calls: %v", calls)
	}
}

// cachedVCenter is the hub's cache with the VCenter "default" and no policies.
type cachedVCenter struct{ client.Reader }

// List returns no objects.
func (cachedVCenter) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// Get returns an empty VCenter, which the hub's own member can use for everything.
func (cachedVCenter) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}
