package trust

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// member makes a MemberCluster that acknowledged the segment of a period.
func member(name string, period Period, manage v1alpha1.Manage) *v1alpha1.MemberCluster {
	return &v1alpha1.MemberCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name)},
		Spec:       v1alpha1.MemberClusterSpec{Manage: manage},
		Status:     v1alpha1.MemberClusterStatus{SegmentPeriod: int64(period), CABundleHash: "of the webhooks that it has"},
	}
}

func (b *bench) knows(m *v1alpha1.MemberCluster, period Period) bool {
	return b.Knows(m.Name, Segment(b.state.PathKey, m.Name, m.UID, period))
}

// acknowledge is the leader's write once a member has another segment.
func (b *bench) acknowledge(m *v1alpha1.MemberCluster, period Period) {
	b.t.Helper()
	m.Status.SegmentPeriod = int64(period)
	if err := b.hub.Update(b.t.Context(), m); err != nil {
		b.t.Fatal(err)
	}
	b.pass()
}

func (b *bench) passAfter(while time.Duration) {
	b.t.Helper()
	b.now = b.now.Add(while)
	b.pass()
}

func TestSegmentsTakeTurns(t *testing.T) {
	near, away := member("near", 0, v1alpha1.ManageCRDsAndAdmission), member("away", 0, v1alpha1.ManageCRDsAndAdmission)
	b := newBench(t, near, away)
	a, _ := twoAuthorities(t)
	b.files(a, 0, 100*day)
	b.pass()
	b.pass()
	if !b.knows(near, 0) || !b.knows(away, 0) {
		t.Fatal("calls with the initial segment are rejected for members without a known period")
	}
	_, now, _ := b.Segment("near", near.UID, false)
	if want := PeriodAt(b.now, DefaultPeriod); now != want || now == 0 {
		t.Fatalf("members are given the segment of period %d, want %d", now, want)
	}
	if !b.knows(near, now) {
		t.Error("a member may not call by the segment that it is given")
	}
	b.acknowledge(near, now)
	b.acknowledge(away, now)
	if !b.knows(near, 0) {
		t.Error("the segment that never ends stops with the acknowledgement, and the member's API servers may not all know of it")
	}
	b.passAfter(limits.Overlap)
	if b.knows(near, 0) {
		t.Error("the segment that never ends holds although the member has had another for long")
	}
	changes := b.changes
	for i := Period(1); i <= 5; i++ {
		b.now = b.now.Add(DefaultPeriod)
		b.pass()
		if !b.knows(near, now+i) || !b.knows(near, now+i-1) {
			t.Errorf("period %d: the segment of this period or of the one before does not hold", i)
		}
		b.acknowledge(near, now+i)
		if !b.knows(near, now+i-1) {
			t.Errorf("period %d: the one before ends with the acknowledgement, and calls are under way", i)
		}
		if i > 1 && b.knows(near, now+i-2) {
			t.Errorf("period %d: a segment holds for more than two periods", i)
		}
		if !b.knows(away, now) {
			t.Errorf("period %d: the segment of the unreachable member expired", i)
		}
		if b.knows(away, now+i) && b.Knows("away", Segment(b.state.PathKey, "near", near.UID, now+i)) {
			t.Errorf("period %d: a member may call by the segment of another", i)
		}
	}
	if got := b.changes - changes; got != 5 {
		t.Errorf("members were notified of %d new periods, want 5", got)
	}
}

func TestAMemberThatComesBackMayCallByItsOldSegmentForAWhile(t *testing.T) {
	away := member("away", 0, v1alpha1.ManageCRDsAndAdmission)
	b := newBench(t, away)
	a, _ := twoAuthorities(t)
	b.files(a, 0, 100*day)
	b.pass()
	b.pass()
	old := PeriodAt(b.now, DefaultPeriod)
	b.acknowledge(away, old)
	b.passAfter(5 * DefaultPeriod)
	b.acknowledge(away, old+5)
	b.passAfter(limits.Overlap - 1)
	if !b.knows(away, old) || !b.knows(away, old+5) {
		t.Error("it may not call by its old segment while all of its API servers learn of the new one, or not by that one")
	}
	b.passAfter(1)
	if b.knows(away, old) || !b.knows(away, old+5) {
		t.Error("it keeps its old segment, or has no new one")
	}
}

// A member that was managed outside the operator called with the segment of period 0, which is known to users. Then its webhooks are removed, and its
// status shows 0 again.
func TestAMemberWithoutWebhooksHasNoSegmentThatNeverEnds(t *testing.T) {
	m := member("m", 0, v1alpha1.ManageCRDsAndAdmission)
	b := newBench(t, m)
	a, _ := twoAuthorities(t)
	b.files(a, 0, 100*day)
	b.pass()
	b.pass()
	if !b.knows(m, 0) {
		t.Fatal("right after spec.manage has changed, the member is not known by the segment that it has")
	}
	now := PeriodAt(b.now, DefaultPeriod)
	b.acknowledge(m, now)
	b.passAfter(limits.Overlap) // until then, its previous segment is stored
	m.Status.CABundleHash = ""
	b.acknowledge(m, 0)
	if b.knows(m, 0) {
		t.Error("the segment that never ends holds again")
	}
	if !b.knows(m, now) {
		t.Error("the segment that it would be given does not hold")
	}
}

func TestASegmentStaysWhereSomebodyElseAppliesIt(t *testing.T) {
	none := member("none", 0, v1alpha1.ManageNone)
	b := newBench(t, none)
	a, _ := twoAuthorities(t)
	b.files(a, 0, 100*day)
	b.pass()
	b.pass()
	if segment, period, ok := b.Segment("none", none.UID, true); !ok || period != 0 || segment != Segment(b.state.PathKey, "none", none.UID, 0) {
		t.Errorf("period %d", period)
	}
	// It was managed until a moment ago: its segment is valid until the other is applied.
	b.acknowledge(none, PeriodAt(b.now, DefaultPeriod)-7)
	if !b.knows(none, 0) || !b.knows(none, PeriodAt(b.now, DefaultPeriod)-7) {
		t.Error("the segment that it has, or the one that it is to have, does not hold")
	}
	b.passAfter(limits.Overlap)
	if !b.knows(none, 0) {
		t.Error("segment 0 expired before the member acknowledged it again")
	}
}

func TestNobodyIsKnownWithoutAKey(t *testing.T) {
	m := member("m", 0, v1alpha1.ManageCRDsAndAdmission)
	b := newBench(t, m)
	if b.Knows("m", "") || b.Knows("m", Segment(nil, "m", m.UID, 0)) {
		t.Error("before anything was read")
	}
	b.leading = false // so that no key is drawn
	b.pass()
	if b.Knows("m", Segment(nil, "m", m.UID, 0)) || b.Knows("", "") {
		t.Error("a segment holds that everybody can compute")
	}
}

func TestPeriodsAreEquallyLong(t *testing.T) {
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	if PeriodAt(at, time.Hour)+1 != PeriodAt(at.Add(time.Hour), time.Hour) || PeriodAt(at, time.Hour) != PeriodAt(at.Add(time.Hour-1), time.Hour) {
		t.Error("an hour is not an hour")
	}
}
