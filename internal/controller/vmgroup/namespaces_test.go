package vmgroup

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/event"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func namedGroup(uid string) *v1alpha1.VmGroup {
	return &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}}
}

// Who answers for a member can send any number of changes, and a namespace can have all groups of the member.
func TestAnyNumberOfChangesOfANamespaceIsOneRoundASecond(t *testing.T) {
	const groups, changes = 100, 30_000
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer end()
		g := NewGroups()
		r := &Reconciler{Groups: g, Now: time.Now}
		r.serve()
		var mu sync.Mutex // the bubble lets one of them run at a time, and the race detector does not know that of timers
		told := map[mcreconcile.Request]int{}
		g.deliverTo(func(mcreconcile.Request) (int, bool) { return 0, true }, func(r mcreconcile.Request, _ bool) {
			mu.Lock()
			defer mu.Unlock()
			told[r]++
		})
		for i := range groups {
			g.seen(requestFor("m", fmt.Sprint(i)), vsphere.KeyOf("m", fmt.Sprint(i)), namedGroup(fmt.Sprint(i)), "x")
		}
		go func() { _ = r.namespaces.Start(ctx) }()
		handler := r.onNamespace("m", nil)
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
				if n := told[requestFor("m", fmt.Sprint(i))]; n != times {
					t.Fatalf("%s group %d was told %d times, want %d", when, i, n, times)
				}
			}
			g.mu.Lock()
			_, is := g.guards["m"].confirmed["team"]
			g.mu.Unlock()
			if is != confirmed {
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
		<-time.After(namespacePause) // on the clock of the bubble
		expect("a pause after many", 2, true)
		handler.Delete(ctx, event.DeleteEvent{Object: namespace(true)}, nil)
		<-time.After(namespacePause) // on the clock of the bubble
		expect("when it is gone", 2, false)
	})
}

// Whatever becomes of groups, those of a namespace are known.
func TestGroupsAreKnownByTheirNamespace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewGroups()
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			n := rapid.IntRange(0, 5).Draw(t, "name")
			r := requestFor(fmt.Sprint("m", n%2), fmt.Sprint(n))
			r.Namespace = rapid.SampledFrom([]string{"one", "two"}).Draw(t, "namespace")
			group := namedGroup(fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "uid")))
			key := keyOf(string(r.ClusterName), group)
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0, 1, 2:
				g.seen(r, key, group, "x")
			case 3:
				g.forget(r)
			case 4:
				g.keep(r, key, group, "x")
			case 5:
				g.forgetKey(r, key)
			case 6:
				g.keepOnly(string(r.ClusterName), map[mcreconcile.Request]vsphere.GroupKey{r: key})
			}
			want := map[memberNamespace]map[vsphere.GroupKey]struct{}{}
			for key, e := range g.byKey {
				of := namespaceOf(e.request)
				if want[of] == nil {
					want[of] = map[vsphere.GroupKey]struct{}{}
				}
				want[of][key] = struct{}{}
			}
			if !maps.EqualFunc(g.within, want, maps.Equal) {
				t.Fatalf("known by namespace are %v, want %v", g.within, want)
			}
		}
	})
}
