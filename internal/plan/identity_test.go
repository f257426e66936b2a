package plan

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// TestVMsOfTwoMembersNeverShareAnInstanceUUID: a member can show any group UID, such as one of another member.
func TestVMsOfTwoMembersNeverShareAnInstanceUUID(t *testing.T) {
	uid := rapid.StringMatching(`[a-z0-9._-]{1,8}`)
	number := rapid.Int32Range(0, 120)
	type vm struct {
		member, group        string
		ordinal, incarnation int32
	}
	draw := func(t *rapid.T, what string) vm {
		return vm{uid.Draw(t, what+" member"), uid.Draw(t, what+" group"), number.Draw(t, what+" ordinal"), number.Draw(t, what+" incarnation")}
	}
	of := func(v vm) string { return InstanceUUID(vsphere.KeyOf(v.member, v.group), v.ordinal, v.incarnation) }
	rapid.Check(t, func(t *rapid.T) {
		one, other := draw(t, "one"), draw(t, "other")
		if rapid.Bool().Draw(t, "the same group UID") {
			other.group = one.group
		}
		if rapid.Bool().Draw(t, "the same VM") {
			other.ordinal, other.incarnation = one.ordinal, one.incarnation
		}
		if (of(one) == of(other)) != (one == other) {
			t.Errorf("%+v has %s, and %+v has %s", one, of(one), other, of(other))
		}
	})
}

// TestAVMWithTheInstanceUUIDOfAnotherMemberIsNotGenuine: its stamp names this member, and the UUID was derived for another one.
func TestAVMWithTheInstanceUUIDOfAnotherMemberIsNotGenuine(t *testing.T) {
	vm := makeVM(0)
	if !Genuine(&vm) {
		t.Fatal("a VM of the group is not genuine")
	}
	attacker := groupID
	attacker.Member = "team-b"
	vm.InstanceUUID = InstanceUUID(attacker.Key(), 0, 0)
	if Genuine(&vm) || WasGenuine(groupID.Key(), 0, vm.InstanceUUID) {
		t.Error("a VM is genuine with an instance UUID that was derived for another member")
	}
}
