package vmgroup

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

// leaderForTest is a replica that knows of buckets without an owner.
type leaderForTest struct {
	shardingtest.Leader
	unowned map[int]time.Duration
}

func (l *leaderForTest) Unowned() map[int]time.Duration { return l.unowned }

func TestAGroupThatNobodyLooksAfterSaysSoUntilSomebodyDoes(t *testing.T) {
	r := newRig(t)
	group := r.settle()
	r.Fleet.SetGroup(refOf(r.request), keyOf("member-uid", group), group, "default")
	replica := &leaderForTest{unowned: map[int]time.Duration{0: unattendedAfter - time.Second}}
	u := UnattendedReporter{Reconciler: r.Reconciler, Replica: replica}
	unattended := func() bool {
		u.look(t.Context())
		c := r.group().Status.Conditions
		said := meta.IsStatusConditionTrue(c, v1alpha1.ConditionUnattended)
		if ready := meta.IsStatusConditionTrue(c, v1alpha1.ConditionReady); ready == said {
			t.Errorf("unattended %v and ready %v", said, ready)
		}
		return said
	}
	if replica.Leader = true; unattended() {
		t.Error("the group is called unattended during a takeover")
	}
	replica.unowned[0] = unattendedAfter
	if replica.Leader = false; unattended() {
		t.Error("a replica that does not lead writes")
	}
	if replica.Leader = true; !unattended() {
		t.Error("nobody says that the group is unattended")
	}
	version := r.group().ResourceVersion
	if u.look(t.Context()); r.group().ResourceVersion != version {
		t.Error("it is said again and again")
	}
	replica.unowned = nil
	r.mustPass()
	if unattended() {
		t.Error("the group is still called unattended after a pass")
	}
}

// TestAMemberThatDoesNotAnswerHoldsNoWordsOnGroupsOfOthers: the leader writes to each member on its own.
func TestAMemberThatDoesNotAnswerHoldsNoWordsOnGroupsOfOthers(t *testing.T) {
	r, silent := newRig(t), newRig(t)
	group := r.settle()
	r.Fleet.SetGroup(refOf(r.request), keyOf("member-uid", group), group, "default")
	r.Fleet.SetMember(fleet.Member{Name: "silent", UID: "silent-uid", State: fleet.Engaged})
	for i := range 20 {
		other := silent.group()
		other.Name, other.UID, other.ResourceVersion = fmt.Sprint("silent-", i), types.UID(fmt.Sprint("silent-", i)), ""
		if err := silent.member.Create(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		r.Fleet.SetGroup(refOf(requestOf("silent", other)), keyOf("silent-uid", other), other, "default")
	}
	written, ended := make(chan struct{}), make(chan struct{})
	r.onStatus = func() error { close(written); return nil }
	silent.onStatus = func() error { <-ended; return context.DeadlineExceeded }
	r.Clusters = twoClusters{testCluster{client: r.member}, testCluster{client: silent.member}}
	u := UnattendedReporter{Reconciler: r.Reconciler, Replica: &leaderForTest{true, map[int]time.Duration{0: time.Hour}}}
	looked := make(chan struct{})
	go func() {
		u.look(t.Context())
		close(looked)
	}()
	<-written
	close(ended)
	<-looked
}

// twoClusters are the local member and another one.
type twoClusters struct{ local, other testCluster }

func (c twoClusters) GetCluster(_ context.Context, name multicluster.ClusterName) (cluster.Cluster, error) {
	if name == v1alpha1.LocalMember {
		return c.local, nil
	}
	return c.other, nil
}
