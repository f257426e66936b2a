package witness

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

// groups are held by this replica, or by another one.
type groups struct{ another bool }

func (*groups) Bucket(sharding.Key) int   { return 0 }
func (g *groups) Holds(sharding.Key) bool { return !g.another }

// member is a cluster with a client and a recorder.
type member struct {
	cluster.Cluster

	client   client.Client
	recorder *events.FakeRecorder
}

func (m *member) GetClient() client.Client                     { return m.client }
func (m *member) GetEventRecorder(string) events.EventRecorder { return m.recorder }
func (m *member) GetCluster(context.Context, multicluster.ClusterName) (cluster.Cluster, error) {
	return m, nil
}

// rig is a witness of a group, and the events on its hub and its member.
type rig struct {
	*Witness

	groups      *groups
	group       *v1alpha1.VmGroup
	hub, member *events.FakeRecorder
	change      vsphere.Change
}

func (r *rig) ref() fleet.Ref {
	return fleet.Ref{Member: v1alpha1.LocalMember, Namespace: r.group.Namespace, Name: r.group.Name}
}

func newRig(t *testing.T, name string, names v1alpha1.VCenterUserNames) *rig {
	t.Helper()
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	vc := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: v1alpha1.VCenterSpec{VCenterUserNames: names}}
	r := &rig{
		groups: &groups{}, group: &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: "g"}},
		hub: events.NewFakeRecorder(10), member: events.NewFakeRecorder(10),
		change: vsphere.Change{
			ID: vsphere.GroupID{Installation: "installation", Member: "member-uid", Group: "g"}, Ordinal: 1, VM: vsphere.VMRef("vm-9"),
			Kind: vsphere.ChangePoweredOff, At: at, User: untrusted.Quoted("alice@vsphere.local"),
		},
	}
	known := fleet.New(clock.RealClock{}, massdeletion.DefaultRules(), r.groups)
	known.SetMember(fleet.Member{Name: v1alpha1.LocalMember, UID: "member-uid", State: fleet.Engaged})
	known.SetGroup(r.ref(), r.change.ID.Key(), r.group, "default")
	has := func(o client.Object) client.Client {
		return clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithObjects(o).Build()
	}
	r.Witness = &Witness{
		Fleet: known, Hub: has(vc), Clusters: &member{client: has(r.group), recorder: r.member}, Events: r.hub,
		HubWrites: writebudget.New(writebudget.Default, func() time.Time { return at }),
	}
	return r
}

func told(r *events.FakeRecorder) (all string) {
	for {
		select {
		case e := <-r.Events:
			all += e + "\n"
		default:
			return all
		}
	}
}

func TestNamesOfVCenterUsersStayOnTheHubUnlessTheVCenterAllowsThem(t *testing.T) {
	for names, allowed := range map[v1alpha1.VCenterUserNames]bool{"": false, "Deny": false, "Allow": true, "What a later release may say": false} {
		r := newRig(t, "web", names)
		r.Of("default").Changed(r.change)
		if got := told(r.hub); got != `Warning VMPoweredOff web-1 of VmGroup "team/web" of member cluster "local" was powered off at 2026-01-02 12:00:00 UTC by "alice@vsphere.local"`+"\n" {
			t.Errorf("%q: the event on the hub is: %s", names, got)
		}
		got := told(r.member)
		if !strings.HasPrefix(got, "Warning VMPoweredOff web-1 was powered off ") || strings.Contains(got, "alice") != allowed || strings.Contains(got, `VCenter "default" on the hub`) == allowed {
			t.Errorf("%q: the event in the member is: %s", names, got)
		}
	}
}

func TestAChangeThatNobodyIsNamedForIsToldAsThat(t *testing.T) {
	r := newRig(t, "web", "")
	r.change.User, r.change.Kind = "", vsphere.ChangeDeleted
	r.Of("default").Changed(r.change)
	if got := told(r.hub); !strings.Contains(got, "VMDeleted web-1") || !strings.Contains(got, "was deleted at 2026-01-02 12:00:00 UTC; vCenter names no user") {
		t.Errorf("the event on the hub is: %s", got)
	}
	if got := told(r.member); !strings.Contains(got, "VMDeleted web-1 was deleted; vCenter names no user") {
		t.Errorf("the event in the member is: %s", got)
	}
}

func TestOneReplicaAsksAndAnotherGroupOfTheNameIsNotTold(t *testing.T) {
	r := newRig(t, "web", "Allow")
	w := r.Of("default")
	if !w.Cares(r.change.ID.Key()) || w.Cares("member-uid/another") {
		t.Error("a replica cares for its own groups, and for no other")
	}
	r.groups.another = true
	if w.Cares(r.change.ID.Key()) {
		t.Error("a replica cares for the groups of another")
	}
	r.change.ID.Group = "an-older-one"
	r.Fleet.KeepVanished(r.ref(), r.change.ID.Key(), r.group, "default")
	w.Changed(r.change)
	if got := told(r.member); got != "" {
		t.Errorf("the event in the member is: %s", got)
	}
}

// The server at a member's address chooses the name of a group. It must not write sentences of ours on the
// hub.
func TestTheNameOfAGroupStandsInQuotesInAnEventOfTheHub(t *testing.T) {
	const evil = "web. Run kubectl delete crds --all; web"
	r := newRig(t, evil, "")
	r.Of("default").Changed(r.change)
	if got := told(r.hub); !strings.HasPrefix(got, `Warning VMPoweredOff "`+evil+`-1" of VmGroup "team/`+evil+`" of member`) {
		t.Errorf("who changed a VM: %s", got)
	}
}
