package member

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Counting looks at all groups of all members, under a lock that all of them share, and a member can change the count of its VMs all the time.
func TestAMemberIsCountedOnceASecondAtMost(t *testing.T) {
	now, counted, groups := testNow, 0, 0
	opts := Options{Counts: func(string) (int, int) { counted++; return groups, 0 }, Timings: Timings{}.withDefaults()}
	r := &reconciler{provider: &Provider{opts: opts}, countsAt: map[string]time.Time{}, countedAt: map[string]time.Time{}}
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}}
	seen := observation{phase: phaseEngaged, engagedAt: now}
	// pass is one after so long, and wants to come back after again; it is to count or not.
	pass := func(when string, after, again time.Duration, counts, writes bool) {
		t.Helper()
		now = now.Add(after)
		before := counted
		due, wait := r.countsDue(mc, seen, now)
		if did := counted > before; did != counts || (due != nil) != writes || wait != again {
			t.Errorf("%s: it counts: %t, writes: %t, comes back after %v; want %t, %t, %v", when, did, due != nil, wait, counts, writes, again)
		}
		if due != nil {
			r.countsAt[mc.Name] = now
			mc.Status.Groups = int32(due.groups)
		}
	}
	pass("engaged now", 0, 10*time.Second, false, false)
	pass("nothing has changed", 10*time.Second, 0, true, false)
	groups = 1
	pass("a change that comes at once", 0, time.Second, false, false)
	pass("a second later", time.Second, 0, true, true)
	for range 100 {
		pass("changes beside a write", 10*time.Millisecond, r.countsAt[mc.Name].Add(10*time.Second).Sub(now.Add(10*time.Millisecond)), false, false)
	}
	groups = 2
	pass("ten seconds after the write", 9*time.Second, 0, true, true)
	before := counted
	for range 10_000 { // to and fro, so that there is nothing to write
		now = now.Add(10 * time.Millisecond)
		r.countsDue(mc, seen, now)
	}
	if n := counted - before; n < 80 || n > 100 {
		t.Errorf("counted %d times in 100 s", n)
	}
}
