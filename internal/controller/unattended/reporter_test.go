package unattended

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

// leader is a replica that has buckets without an owner.
type leader struct {
	shardingtest.Leader
	unowned map[int]time.Duration
}

func (l *leader) Unowned() map[int]time.Duration { return l.unowned }

// oneBucket has all groups.
type oneBucket struct{}

func (oneBucket) Bucket(sharding.Key) int { return 0 }
func (oneBucket) Holds(sharding.Key) bool { return false }

// members are clusters by name.
type members map[multicluster.ClusterName]member

func (m members) GetCluster(_ context.Context, name multicluster.ClusterName) (cluster.Cluster, error) {
	return m[name], nil
}

type member struct {
	cluster.Cluster
	client client.Client
}

func (m member) GetClient() client.Client { return m.client }

// engaged adds a member with this number of groups, which are ready. Each write of a status calls write
// first.
func (m members) engaged(known *fleet.Fleet, name string, groups int, write func() error) client.Client {
	of := clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithStatusSubresource(&v1alpha1.VmGroup{}).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := write(); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, patch, opts...)
		},
	})
	known.SetMember(fleet.Member{Name: name, UID: name, State: fleet.Engaged})
	for i := range groups {
		group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i))}}
		meta.SetStatusCondition(&group.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready"})
		of.WithObjects(group)
		ref := fleet.Ref{Member: name, Namespace: group.Namespace, Name: group.Name}
		known.SetGroup(ref, vsphere.KeyOf(name, string(group.UID)), group, "default")
	}
	m[multicluster.ClusterName(name)] = member{client: of.Build()}
	return m[multicluster.ClusterName(name)].client
}

func newReporter(replica Replica) (*Reporter, members) {
	m := members{}
	return &Reporter{
		Fleet: fleet.New(clock.RealClock{}, massdeletion.DefaultRules(), oneBucket{}), Clusters: m, Replica: replica, Clock: clock.RealClock{},
	}, m
}

func TestTheLeaderAloneSaysOnceThatNobodyLooksAfterAGroup(t *testing.T) {
	replica := &leader{unowned: map[int]time.Duration{0: patience - time.Second}}
	u, m := newReporter(replica)
	of := m.engaged(u.Fleet, "m", 1, func() error { return nil })
	group := func() *v1alpha1.VmGroup {
		g := &v1alpha1.VmGroup{}
		if err := of.Get(t.Context(), types.NamespacedName{Namespace: "team", Name: "0"}, g); err != nil {
			t.Fatal(err)
		}
		return g
	}
	unattended := func() bool {
		u.look(t.Context())
		c := group().Status.Conditions
		said := meta.IsStatusConditionTrue(c, v1alpha1.ConditionUnattended)
		if ready := meta.IsStatusConditionTrue(c, v1alpha1.ConditionReady); ready == said {
			t.Errorf("unattended %v and ready %v", said, ready)
		}
		return said
	}
	if replica.Leader = true; unattended() {
		t.Error("the group is called unattended during a takeover")
	}
	replica.unowned[0] = patience
	if replica.Leader = false; unattended() {
		t.Error("a replica that does not lead writes")
	}
	if replica.Leader = true; !unattended() {
		t.Error("the group has no condition Unattended")
	}
	version := group().ResourceVersion
	if u.look(t.Context()); group().ResourceVersion != version {
		t.Error("it is said again and again")
	}
}

// TestAMemberThatDoesNotAnswerHoldsNoWordsOnGroupsOfOthers: the leader writes to each member on its own.
func TestAMemberThatDoesNotAnswerHoldsNoWordsOnGroupsOfOthers(t *testing.T) {
	u, m := newReporter(&leader{true, map[int]time.Duration{0: time.Hour}})
	written, ended := make(chan struct{}), make(chan struct{})
	m.engaged(u.Fleet, "answers", 1, func() error { close(written); return nil })
	m.engaged(u.Fleet, "silent", 20, func() error { <-ended; return context.DeadlineExceeded })
	looked := make(chan struct{})
	go func() {
		u.look(t.Context())
		close(looked)
	}()
	<-written
	close(ended)
	<-looked
}
