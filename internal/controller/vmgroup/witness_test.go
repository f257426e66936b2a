package vmgroup

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// witnessed is a rig whose group is known, and what its hub and its member are told.
func witnessed(t *testing.T, names v1alpha1.VCenterUserNames) (r *rig, hub, member *events.FakeRecorder, change vsphere.Change) {
	t.Helper()
	r = newRig(t)
	r.settle()
	hub, member = events.NewFakeRecorder(10), events.NewFakeRecorder(10)
	r.HubEvents, r.Clusters = hub, testCluster{client: r.member, recorder: member}
	g := r.group()
	r.Fleet.SetGroup(refOf(r.request), r.key(), g, "default")
	vc := &v1alpha1.VCenter{}
	if err := r.hub.Get(t.Context(), client.ObjectKey{Name: "default"}, vc); err != nil {
		t.Fatal(err)
	}
	vc.Spec.VCenterUserNames = names
	if err := r.hub.Update(t.Context(), vc); err != nil {
		t.Fatal(err)
	}
	return r, hub, member, vsphere.Change{
		ID: vsphere.GroupID{Installation: "installation", Member: "member-uid", Group: string(g.UID)}, Ordinal: 1, VM: vsphere.VMRef("vm-9"),
		Kind: vsphere.ChangePoweredOff, At: noon, User: untrusted.Quoted("alice@vsphere.local"),
	}
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
		r, hub, member, change := witnessed(t, names)
		r.Witness("default").Changed(change)
		if got := told(hub); got != `Warning VMPoweredOff web-1 of VmGroup "team/web" of member cluster "local" was powered off at 2026-01-02 12:00:00 UTC by "alice@vsphere.local"`+"\n" {
			t.Errorf("%q: the hub is told: %s", names, got)
		}
		got := told(member)
		if !strings.HasPrefix(got, "Warning VMPoweredOff web-1 was powered off by") || strings.Contains(got, "alice") != allowed || strings.Contains(got, `VCenter "default" on the hub`) == allowed {
			t.Errorf("%q: the member is told: %s", names, got)
		}
	}
}

func TestAChangeThatNobodyIsNamedForIsToldAsThat(t *testing.T) {
	r, hub, member, change := witnessed(t, "")
	change.User, change.Kind = "", vsphere.ChangeDeleted
	r.Witness("default").Changed(change)
	if got := told(hub); !strings.Contains(got, "VMDeleted web-1") || !strings.Contains(got, "was deleted at 2026-01-02 12:00:00 UTC; vCenter names nobody") {
		t.Errorf("the hub is told: %s", got)
	}
	if got := told(member); !strings.Contains(got, "VMDeleted web-1 was deleted; vCenter names nobody") {
		t.Errorf("the member is told: %s", got)
	}
}

func TestOneReplicaAsksAndAnotherGroupOfTheNameIsNotTold(t *testing.T) {
	r, _, member, change := witnessed(t, "Allow")
	w := r.Witness("default")
	if !w.Cares(r.key()) || w.Cares("member-uid/another") {
		t.Error("a replica cares for its own groups, and for no other")
	}
	r.gate.another = true
	if w.Cares(r.key()) {
		t.Error("a replica cares for the groups of another")
	}
	g := r.group()
	change.ID.Group = "an-older-one"
	r.Fleet.KeepVanished(refOf(r.request), change.ID.Key(), g, "default")
	w.Changed(change)
	if got := told(member); got != "" {
		t.Errorf("the member is told: %s", got)
	}
}
