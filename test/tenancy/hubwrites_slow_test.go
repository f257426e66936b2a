//go:build unix && slow

package tenancy

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

const (
	// editedGroups are those of one user, and edits their total number of edits, in turns of some edits each. The same
	// number of edits of ConfigMaps in a turn suffices for a comparison, because their delays differ less.
	editedGroups, edits, turnOfEdits, editsOfMaps = 300, 10_000, 2500, 1600
	// editsASecond is ten times the rate at which the operator records. On two cores, which the API servers share,
	// twice as many edits would use the whole processor, so that nothing could be measured about the operator.
	editsASecond = 40
	// mostStored is the maximum growth of the hub's etcd for all of these edits, including the operator's Leases.
	mostStored = 5_000_000
	// mostDelay is the maximum additional delay of another member's edit at its 99th percentile, compared with the same
	// number of edits of ConfigMaps.
	mostDelay = 1.2
)

// TestTenThousandEditsOfPausedGroupsFillNoHubAndDelayNobody: a user edits 300 paused groups continuously. Another
// member's users edit theirs, at the same time and during the same number of edits of ConfigMaps in the first member,
// in turns.
func TestTenThousandEditsOfPausedGroupsFillNoHubAndDelayNobody(t *testing.T) {
	w := shared.enterAlone(t)
	if err := w.Members[attackers].YieldProcessor(); err != nil {
		t.Fatal(err)
	}
	a := newAttacker(t, w, "restless", fresh("restless")).joined()
	one := int32(1)
	for n := range editedGroups {
		a.applySpec(fmt.Sprintf("paused-%d", n), v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: &one, Paused: true})
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: fmt.Sprintf("map-%d", n)}}
		if err := a.cluster.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	other := newModest(t, w)
	a.untilAllSeen(editedGroups)
	var grew float64
	beside := map[string][]time.Duration{}
	for n := range edits / turnOfEdits {
		besideMaps := other.whileEditing(beside, "ConfigMaps", func() {
			a.editsAll(editsOfMaps, func(i int) error {
				object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: fmt.Sprintf("map-%d", i%editedGroups)}}
				return a.cluster.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"data":{"cpu":"%d"}}`, n*turnOfEdits+i)))
			})
		})
		besideGroups := other.whileEditing(beside, "groups", func() {
			a.editsAll(turnOfEdits, func(i int) error {
				object := a.object(fmt.Sprintf("paused-%d", i%editedGroups))
				return a.cluster.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"cpu":%d}}`, (i/editedGroups+n)%4+1)))
			})
		})
		t.Logf("turn %d: beside ConfigMaps %+v, beside groups %+v", n, besideMaps, besideGroups)
		// The storage cost of the other member's edits on the hub is known from the ConfigMap turns.
		grew += besideGroups.grew - besideMaps.grew/float64(besideMaps.edits)*float64(besideGroups.edits)
	}
	a.untilAllSeen(editedGroups)
	if grew > mostStored {
		t.Errorf("the hub's etcd grew by %.0f bytes for %d edits of paused groups, at most %d may be", grew, edits, mostStored)
	}
	is, was := percentile(beside["groups"], 99), percentile(beside["ConfigMaps"], 99)
	t.Logf("grew by %.0f bytes; beside groups %d edits, median %s, 99th percentile %s; beside ConfigMaps %d, %s, %s", grew,
		len(beside["groups"]), percentile(beside["groups"], 50), is, len(beside["ConfigMaps"]), percentile(beside["ConfigMaps"], 50), was)
	if float64(is) > mostDelay*float64(was) {
		t.Errorf("an edit of another member took %s beside edits of groups, and %s beside edits of ConfigMaps", is, was)
	}
	w.isSmall(t)
}

func stored(t *testing.T, w *world) int64 {
	t.Helper()
	n, err := w.Hub.StoredBytes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func percentile(all []time.Duration, p int) time.Duration {
	slices.Sort(all)
	return all[len(all)*p/100]
}

// editsAll edits at a steady pace, by some concurrent clients.
func (a *attacker) editsAll(edits int, edit func(i int) error) {
	a.t.Helper()
	tick := time.NewTicker(time.Second / editsASecond)
	defer tick.Stop()
	next := make(chan int)
	var editing sync.WaitGroup
	for range 8 {
		editing.Go(func() {
			for i := range next {
				if err := edit(i); err != nil {
					a.t.Error(err)
				}
			}
		})
	}
	for i := range edits {
		<-tick.C
		next <- i
	}
	close(next)
	editing.Wait()
}

// untilAllSeen waits until the operator has seen the last edit of all groups.
func (a *attacker) untilAllSeen(groups int) {
	a.t.Helper()
	seen := 0
	await.Until(a.t, "the operator to see all edits", func(ctx context.Context) (bool, error) {
		list := &v1alpha1.VmGroupList{}
		err := a.cluster.List(ctx, list, client.InNamespace(a.namespace))
		seen = 0
		for i := range list.Items {
			if g := &list.Items[i]; g.Status.ObservedGeneration == g.Generation {
				seen++
			}
		}
		return seen == groups, err
	}, func() string { return fmt.Sprintf("%d of %d groups are seen", seen, groups) })
}

// turn has what one round measured: how many edits the users of the other member made, and by how many bytes the hub's etcd
// grew.
type turn struct {
	edits int
	grew  float64
}

// modest is a member whose users edit many groups now and then.
type modest struct {
	*place
	edits int
}

// modestGroups is so large that each group is edited every twelve seconds: the operator records a group once in ten
// seconds, after its first four edits. The pace is fixed. Without it, the load would depend on the delay that the test
// measures.
const (
	modestGroups       = 120
	modestEditsASecond = 10
)

func newModest(t *testing.T, w *world) *modest {
	t.Helper()
	m := &modest{place: newPlace(t, w, victim, fresh("modest"))}
	one := int32(1)
	for n := range modestGroups {
		// An edit is admitted, and its VM does not change.
		m.applySpec(fmt.Sprintf("modest-%d", n), v1alpha1.VmGroupSpec{
			CPU: 1, Memory: 1, Template: template, Replicas: &one, UpdateStrategy: &v1alpha1.UpdateStrategy{Paused: true},
		})
	}
	for n := range modestGroups {
		m.untilRunning("at first", fmt.Sprintf("modest-%d", n), 1)
	}
	return m
}

// whileEditing edits one group after another until do has ended, and records the time of each edit until the operator
// had recorded it.
func (m *modest) whileEditing(took map[string][]time.Duration, what string, do func()) turn {
	m.t.Helper()
	n, before := 0, stored(m.t, m.w)
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	tick := time.NewTicker(time.Second / modestEditsASecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return turn{n, float64(stored(m.t, m.w) - before)}
		case <-tick.C:
			took[what] = append(took[what], m.edit())
			n++
		}
	}
}

// edit edits the next group, and returns the time until the operator had recorded it.
func (m *modest) edit() time.Duration {
	m.t.Helper()
	name, cpu := fmt.Sprintf("modest-%d", m.edits%modestGroups), int32(m.edits/modestGroups%3+2)
	m.edits++
	g, began := m.object(name), time.Now()
	if err := m.cluster.Patch(m.t.Context(), g, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"cpu":%d}}`, cpu))); err != nil {
		m.t.Fatal(err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for time.Since(began) < patience {
		<-tick.C
		if err := m.cluster.Get(m.t.Context(), client.ObjectKeyFromObject(g), g); err != nil {
			m.t.Fatal(err)
		}
		if a := g.Status.Admitted; a != nil && a.CPU == cpu {
			return time.Since(began)
		}
	}
	m.t.Fatalf("VmGroup %s is not admitted as edited: %s", name, stack.Words(g.Status.Conditions))
	return 0
}
