package govmomi

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

// everybodys is a witness for the groups of all members.
type everybodys struct{ vsphere.Witness }

func (everybodys) Cares(vsphere.GroupKey) bool { return true }

func TestAStormOfChangesIsAskedAboutInPart(t *testing.T) {
	var said strings.Builder
	s := New(Config{Installation: "hub", Witness: everybodys{}, Log: funcr.New(func(_, args string) { said.WriteString(args) }, funcr.Options{})})
	for i := range 500 {
		s.wonder(inventory.Change{Kind: vsphere.ChangePoweredOff, Before: vsphere.VM{
			Ref: vsphere.VMRef(fmt.Sprint("vm-", i)), Stamp: &vsphere.Stamp{Ordinal: int32(i)},
		}})
	}
	s.tellUnasked()
	if len(s.questions) != mostQuestions || !strings.Contains(said.String(), `"vms"=400`) {
		t.Errorf("%d questions wait; said: %s", len(s.questions), said.String())
	}
}

func TestTheNewestEventSaysWhoDidIt(t *testing.T) {
	vm := vsphere.VMRef("vm-1")
	event := func(key int32, ref, user string) types.VmEvent {
		return types.VmEvent{Event: types.Event{Key: key, UserName: user, CreatedTime: time.Unix(int64(key), 0),
			Vm: &types.VmEventArgument{Vm: types.ManagedObjectReference{Type: "VirtualMachine", Value: ref}}}}
	}
	off := func(key int32, user string) types.BaseEvent {
		return &types.VmPoweredOffEvent{VmEvent: event(key, "vm-1", user)}
	}
	on := func(key int32, user string) types.BaseEvent {
		return &types.VmPoweredOnEvent{VmEvent: event(key, "vm-1", user)}
	}
	asks := func(key int32, user string) types.BaseEvent {
		return &types.VmGuestShutdownEvent{VmEvent: event(key, "vm-1", user)}
	}
	moved := func(folder, what string) types.BaseEvent {
		e := &types.TaskEvent{Info: types.TaskInfo{DescriptionId: what, Entity: &types.ManagedObjectReference{Type: "Folder", Value: folder}}}
		e.Key, e.UserName = 9, "alice"
		return e
	}
	for _, test := range []struct {
		name   string
		kind   vsphere.ChangeKind
		events []types.BaseEvent
		user   string
		ok     bool
	}{
		{"none", vsphere.ChangePoweredOff, nil, "", false},
		{"in any order", vsphere.ChangePoweredOff, []types.BaseEvent{off(1, "bob"), off(3, "alice"), on(2, "")}, "alice", true},
		{"of the last time", vsphere.ChangePoweredOff, []types.BaseEvent{off(1, "bob"), on(2, "operator")}, "", false},
		{"by the user who asked the guest", vsphere.ChangePoweredOff, []types.BaseEvent{on(1, "operator"), asks(2, "alice"), off(3, "")}, "alice", true},
		{"by the guest itself", vsphere.ChangePoweredOff, []types.BaseEvent{asks(1, "alice"), off(2, ""), on(3, "operator"), off(4, "")}, "", true},
		{"a guest that was asked is not off", vsphere.ChangePoweredOff, []types.BaseEvent{on(1, "operator"), asks(2, "alice")}, "", false},
		{"of another VM", vsphere.ChangeDeleted, []types.BaseEvent{&types.VmRemovedEvent{VmEvent: event(1, "vm-2", "bob")}}, "", false},
		{"moved", vsphere.ChangeMoved, []types.BaseEvent{moved("group-v2", "Folder.moveInto")}, "alice", true},
		{"moved elsewhere", vsphere.ChangeMoved, []types.BaseEvent{moved("group-v3", "Folder.moveInto")}, "", false},
		{"another task", vsphere.ChangeMoved, []types.BaseEvent{moved("group-v2", "Folder.createVm")}, "", false},
	} {
		q := question{Change: inventory.Change{Kind: test.kind, Before: vsphere.VM{Ref: vm}, Now: vsphere.VM{Folder: vsphere.FolderRef("group-v2")}}}
		if _, user, ok := newest(test.events, q); user != test.user || ok != test.ok {
			t.Errorf("%s: %q, %t; want %q, %t", test.name, user, ok, test.user, test.ok)
		}
	}
}

func TestAnEventIsToldOfOnceAndOurOwnNever(t *testing.T) {
	s := New(Config{Installation: "hub"})
	reconfigured := func(key int32, user string) []types.BaseEvent {
		return []types.BaseEvent{&types.VmReconfiguredEvent{VmEvent: types.VmEvent{Event: types.Event{Key: key, UserName: user,
			Vm: &types.VmEventArgument{Vm: types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}}}}}}
	}
	q := question{Change: inventory.Change{Kind: vsphere.ChangeReconfigured, Before: vsphere.VM{Ref: vsphere.VMRef("vm-1"), Stamp: &vsphere.Stamp{}}}}
	for _, test := range []struct {
		events         []types.BaseEvent
		user           string
		told, answered bool
	}{
		{reconfigured(7, "alice"), `"alice"`, true, true},
		{reconfigured(7, "alice"), "", false, false}, // from the change before
		{reconfigured(8, `VSPHERE.LOCAL\operator`), "", false, true},
		{reconfigured(9, ""), "", true, true},
		{nil, "", false, false},
	} {
		change, answered := s.judge(test.events, q, "operator@vsphere.local")
		if answered != test.answered || (change != nil) != test.told || change != nil && change.User != test.user {
			t.Errorf("%v: reported %+v, answered %t", test, change, answered)
		}
	}
}

func TestAnAccountIsTheSameHoweverItIsWritten(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{`VSPHERE.LOCAL\operator`, "operator@vsphere.local", true},
		{"operator", `VSPHERE.LOCAL\Operator`, true},
		{`CORP\operator`, "operator@vsphere.local", false},
		{"alice@vsphere.local", "operator@vsphere.local", false},
		{"", "operator@vsphere.local", false},
	} {
		if got := sameUser(test.a, test.b); got != test.same {
			t.Errorf("%s and %s are the same: %t", test.a, test.b, got)
		}
	}
}
