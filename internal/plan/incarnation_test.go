package plan

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// released is a VM of the group that deletionPolicy Retain released and a user renamed.
func released(ordinal, n int32, moRef string) vsphere.VM {
	return makeVM(ordinal, incarnation(ordinal, n), unstamped, ref(moRef), called("mine-"+moRef))
}

func TestTheUUIDOfAReleasedVMIsNotUsedAgain(t *testing.T) {
	s := newSim(t, 2)
	s.spec.DeletionPolicy = v1alpha1.DeletionRetain
	s.run(settled)
	s.replicas(1)
	s.run(settled)
	kept := s.byName("web-1")
	if kept == nil || kept.Stamp != nil {
		t.Fatalf("web-1 was not released: %+v", kept)
	}
	kept.Name = "mine"
	s.replicas(2)
	s.crash() // decisions are recorded, not remembered
	s.run(settled)
	fresh := s.byName("web-1")
	if fresh == nil || fresh.InstanceUUID == kept.InstanceUUID || fresh.InstanceUUID != InstanceUUID(groupID.Key(), 1, 1) {
		t.Errorf("the released VM has UUID %s, the new web-1 is %+v", kept.InstanceUUID, fresh)
	}
}

func TestIncarnationsWhoseUUIDIsTakenArePassedOver(t *testing.T) {
	upper := released(0, 0, "vm-7")
	upper.InstanceUUID = strings.ToUpper(upper.InstanceUUID)
	recorded := intent(0, 1)
	recorded.UUID = strings.ToUpper(recorded.UUID)
	for _, c := range []struct {
		name string
		in   Input
		want int32
	}{
		{"one", input(1, sees(released(0, 0, "vm-7"))), 1},
		{"in another spelling", input(1, sees(upper)), 1},
		{"two", input(1, sees(released(0, 1, "vm-8"), released(0, 0, "vm-7"))), 2},
		{"the one that is recorded", input(1, knows(intent(0, 1)), sees(released(0, 1, "vm-8"))), 2},
		{"the one that is recorded in another spelling", input(1, knows(recorded), sees(released(0, 1, "vm-8"))), 2},
		{"the next of a lost one", input(1, goneVMs(0), sees(released(0, 1, "vm-8"))), 2},
		{"none of another ordinal", input(1, sees(released(1, 0, "vm-7"))), 0},
		{"none without a UUID", input(1, sees(released(1, 0, "vm-7"), vsphere.VM{Ref: vsphere.VMRef("vm-9"), Name: "bare", Folder: folder})), 0},
		{"an intent without a UUID", input(1, knows(Known{Ordinal: 0}), sees(vsphere.VM{Ref: vsphere.VMRef("vm-9"), Name: "bare", Folder: folder})), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Compute(c.in)
			if len(p.Actions) != 1 || p.Actions[0].Incarnation != c.want || p.Actions[0].UUID != InstanceUUID(groupID.Key(), 0, c.want) {
				t.Errorf("got %+v, want incarnation %d", p.Actions, c.want)
			}
		})
	}
}

func TestAFirstVMAfterAReleasedOneIsNoRepair(t *testing.T) {
	runRules(t, []rule{
		{"decided on", input(1, knows(intent(0, 1)), sees(released(0, 0, "vm-7")), spec(maxUnhealthy(0))),
			want{actions: "CreateVM web-0", vms: "0:Cloning"}, nil},
		{"being cloned", input(1, knows(intent(0, 1)), sees(released(0, 0, "vm-7")), running(vsphere.OpClone, 0, 0), spec(maxUnhealthy(0))),
			want{vms: "0:Cloning"}, nil},
		{"but its replacement is", input(1, knows(intent(0, 2)), sees(released(0, 0, "vm-7")), running(vsphere.OpClone, 0, 0)),
			want{vms: "0:Cloning", repairing: true}, nil},
	})
}
