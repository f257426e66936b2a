package feed

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// oneBucket holds all groups.
type oneBucket struct{}

func (oneBucket) Bucket(sharding.Key) int { return 0 }
func (oneBucket) Holds(sharding.Key) bool { return true }

// sinkFunc is a subscriber of groups.
type sinkFunc func(fleet.Ref)

func (s sinkFunc) Deliver(of fleet.Ref, _ fleet.Reason) { s(of) }

// The API server of a member can send any number of changes, and a namespace can have all groups of the member.
func TestAnyNumberOfChangesOfANamespaceIsOneRoundASecond(t *testing.T) {
	const groups, changes = 100, 30_000
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer end()
		f := fleet.New(clock.RealClock{}, massdeletion.DefaultRules(), oneBucket{})
		ref := func(i int) fleet.Ref { return fleet.Ref{Member: "m", Namespace: "team", Name: fmt.Sprint(i)} }
		feed := New(f, &receiver{})
		var mu sync.Mutex // the bubble lets one of them run at a time, and the race detector does not see that for timers
		told := map[fleet.Ref]int{}
		f.SetMember(fleet.Member{Name: "m", UID: "m", State: fleet.Engaged})
		f.SubscribeGroups(sinkFunc(func(of fleet.Ref) {
			mu.Lock()
			defer mu.Unlock()
			told[of]++
		}))
		for i := range groups {
			// All are being deleted, and are old enough to count in a mass deletion.
			of := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(i))}}
			of.CreationTimestamp, of.DeletionTimestamp = metav1.NewTime(time.Now().Add(-2*time.Hour)), ptr.To(metav1.Now())
			of.Status.VMs = []v1alpha1.VMStatus{{Name: "vm", MoRef: "vm-1"}}
			f.SetGroup(ref(i), vsphere.KeyOf("m", fmt.Sprint(i)), of, "x")
		}
		go func() { _ = feed.Start(ctx) }()
		handler := feed.Namespaces("m", nil)
		namespace := func(confirmed bool) *metav1.PartialObjectMetadata {
			n := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "team", UID: "namespace-uid"}}
			n.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
			if confirmed {
				n.Annotations = map[string]string{v1alpha1.ConfirmDeletionAnnotation: "namespace-uid"}
			}
			return n
		}
		expect := func(when string, times int, confirmed bool) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			for i := range groups {
				if n := told[ref(i)]; n != times {
					t.Fatalf("%s, group %d was notified %d times, want %d", when, i, n, times)
				}
			}
			another := massdeletion.Group{Created: time.Now().Add(-2 * time.Hour), Existing: 1}
			if is := !f.Trips("m", "m/another", another, massdeletion.Limit{}); is != confirmed {
				t.Fatalf("%s it is %t that all that is removed is confirmed", when, is)
			}
		}
		handler.Update(ctx, event.UpdateEvent{ObjectOld: namespace(false), ObjectNew: namespace(true)}, nil)
		expect("after one change", 1, true)
		for i := range changes {
			handler.Update(ctx, event.UpdateEvent{ObjectOld: namespace(false), ObjectNew: namespace(i%2 == 0)}, nil)
		}
		handler.Create(ctx, event.CreateEvent{Object: namespace(true)}, nil)
		expect("at once after many", 1, true)
		<-time.After(pause) // on the clock of the bubble
		expect("a pause after many", 2, true)
		handler.Delete(ctx, event.DeleteEvent{Object: namespace(true)}, nil)
		<-time.After(pause) // on the clock of the bubble
		expect("after its deletion", 2, false)
	})
}
