package vcenter

import (
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

type groupsForWakes struct{ Groups }

func (groupsForWakes) GroupChanged(vsphere.GroupKey) {}
func (groupsForWakes) VCenterChanged(string)         {}

// A replica sees every event of every VM of a vCenter. Each pass of its VCenter reads the state of both connections, the Secret and the neighbors.
func TestAThousandEventsOfVMsInASecondCauseOnePassOfTheVCenter(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	q := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request](),
		workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Clock: clock})
	t.Cleanup(q.ShutDown)
	r := &Reconciler{Groups: groupsForWakes{}, changed: make(chan event.TypedGenericEvent[wake], 2048)}
	n := notifier{r, "vc"}
	enqueueAll := func() {
		for len(r.changed) > 0 {
			enqueue(t.Context(), <-r.changed, q)
		}
	}
	for range 1000 {
		n.GroupChanged("m/g")
	}
	enqueueAll()
	if q.Len() != 0 {
		t.Errorf("%d passes begin immediately, want 0", q.Len())
	}
	await.True(t, "the pass waits for the clock", clock.HasWaiters)
	clock.Step(time.Second)
	await.True(t, "a pass begins", func() bool { return q.Len() == 1 })
	request, _ := q.Get()
	q.Done(request)
	if q.Len() != 0 || request.Name != "vc" {
		t.Errorf("after the pass of %q, %d others begin", request.Name, q.Len())
	}
	n.ServerChanged() // the vCenter stopped responding, for example
	enqueueAll()
	if q.Len() != 1 {
		t.Errorf("%d passes begin after a change of the connection, want one", q.Len())
	}
}
