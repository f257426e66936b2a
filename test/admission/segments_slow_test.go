//go:build unix && slow

package admission

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

const (
	// segmentPeriod is the validity of a segment in these tests: several times as long as members take to change it on
	// a busy machine.
	segmentPeriod = 10 * time.Second
	// changes is the number of segments that each member gets under load, and callsOfEach the minimum number of calls
	// with each.
	changes, callsOfEach = 3, 100
)

// TestASegmentFromAnErrorTellsWhatItsMembersUsersKnowAndEndsWhileNoCallFails: an unreachable member keeps its old
// segment until it is reachable again, and a user who read it from an error tries to use it. Both members call
// continuously.
func TestASegmentFromAnErrorTellsWhatItsMembersUsersKnowAndEndsWhileNoCallFails(t *testing.T) {
	stack.Story(t)
	segmentsChangeOften(t)
	callsMustSucceed(t)
	rule := newRule(t, "leaked", vmQuota(v1alpha1.QuotaNamespace, 3))
	theirs, p := newPlace(t, "team-a", "others-only", rule.labels()), newPlace(t, "team-b", rule.name, rule.labels())
	theirs.apply(theirs.group("theirs", 2))
	theirs.untilRunning("theirs", 2)
	user := newNamespaceUser(t, p)

	at, release := holdSegment(t, "team-b")
	told := leakOf(t, "team-b", user.failedCall())
	ofTeamA := configured(t, "team-a")
	load := startLoad(t)
	await.Until(t, "the time of the segment to be over", func(context.Context) (bool, error) {
		return trust.PeriodAt(time.Now(), segmentPeriod) >= at+2, nil
	})
	told.tried(t, p, theirs.get("theirs"))
	told.tellsOnlyWhat(user, theirs)
	release()
	for _, leak := range []leaked{told, ofTeamA} {
		leak.untilItIsLikeAnInvention(t)
	}
	for range changes {
		before := segmentPeriods(t)
		for member, period := range before {
			await.Until(t, "another segment for "+member, func(ctx context.Context) (bool, error) {
				now, err := periodOf(ctx, member)
				return now > period, err
			})
		}
		load.untilMore(load.calls(), callsOfEach)
		t.Logf("segments of the periods %v, %v calls", before, load.calls())
	}
	load.stop()
}

// segmentsChangeOften restarts the replicas with a short period of segments, for this test.
func segmentsChangeOften(t *testing.T) {
	t.Helper()
	stopHub(t)(fmt.Sprintf("--webhook-segment-period=%s", segmentPeriod))
	t.Cleanup(func() { stopHub(t)() })
}

// holdSegment prevents a member from getting new segments, from within the period of its current one until release is
// called.
func holdSegment(t *testing.T, member string) (at trust.Period, release func()) {
	t.Helper()
	proxy := world.Members[member].Proxy
	release = func() { proxy.Hook(nil) }
	t.Cleanup(release)
	key := trust.ParseState(admissionSecret(t).Data).PathKey
	await.Until(t, member+" to have the segment of now", func(ctx context.Context) (bool, error) {
		proxy.Hook(func(call localcluster.APICall) faultproxy.Fault {
			if call.Writes() && (call.Resource == "validatingwebhookconfigurations" || call.Resource == "mutatingwebhookconfigurations") {
				return faultproxy.Fault{Act: faultproxy.CutBefore}
			}
			return faultproxy.Fault{}
		})
		mc := &v1alpha1.MemberCluster{}
		if err := world.Hub.Get(ctx, client.ObjectKey{Name: member}, mc); err != nil {
			return false, err
		}
		urls, err := urlsOf(ctx, world.Members[member])
		at = trust.Period(mc.Status.SegmentPeriod)
		held := err == nil
		for _, u := range urls {
			held = held && segmentIn(u) == trust.Segment(key, member, mc.UID, at)
		}
		// Requests in flight when writes were cut belong to this period as well.
		if held = held && at == trust.PeriodAt(time.Now(), segmentPeriod); !held {
			release()
		}
		return held, err
	})
	return at, release
}

// segmentPeriods are the periods of the segments that the members acknowledge.
func segmentPeriods(t *testing.T) map[string]trust.Period {
	t.Helper()
	all := map[string]trust.Period{}
	for member := range world.Members {
		period, err := periodOf(t.Context(), member)
		if err != nil {
			t.Fatal(err)
		}
		all[member] = period
	}
	return all
}

func periodOf(ctx context.Context, member string) (trust.Period, error) {
	mc := &v1alpha1.MemberCluster{}
	err := world.Hub.Get(ctx, client.ObjectKey{Name: member}, mc)
	return trust.Period(mc.Status.SegmentPeriod), err
}
