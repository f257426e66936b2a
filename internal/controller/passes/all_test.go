package passes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// vcenters lists two VCenters, unless it fails.
type vcenters struct {
	client.Reader
	fails bool
	lists int
}

func (v *vcenters) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	v.lists++
	if v.fails {
		return errors.New("not now")
	}
	list.(*v1alpha1.VCenterList).Items = []v1alpha1.VCenter{{ObjectMeta: metav1.ObjectMeta{Name: "one"}}, {ObjectMeta: metav1.ObjectMeta{Name: "two"}}}
	return nil
}

// TestRequestsThatComeTogetherAreOneListing, also those from before the controller starts.
func TestRequestsThatComeTogetherAreOneListing(t *testing.T) {
	All{}.Ask() // before the set-up nothing blocks
	synctest.Test(t, func(t *testing.T) {
		reader, every := &vcenters{}, NewAll()
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer queue.ShutDown()
		enqueued := func(of source.Source) int {
			t.Helper()
			every.Ask()
			every.Ask()
			if of != nil {
				if err := of.Start(t.Context(), queue); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			n := queue.Len()
			for range n {
				request, _ := queue.Get()
				queue.Done(request)
			}
			return n
		}
		if n := enqueued(every.Of(reader, &v1alpha1.VCenterList{})); n != 2 || reader.lists != 1 {
			t.Errorf("%d requests after %d lists, want 2 after 1", n, reader.lists)
		}
		if reader.fails = true; enqueued(nil) != 0 {
			t.Error("requests come from a list that failed")
		}
		if reader.fails = false; enqueued(nil) != 2 {
			t.Error("nothing is enqueued after a list that failed")
		}
		every = NewAll()
		if n := enqueued(every.As(reconcile.Request{})); n != 1 {
			t.Errorf("%d requests, want the one that stands for all", n)
		}
	})
}
