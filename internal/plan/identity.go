package plan

import (
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// instances is the namespace of instance UUIDs. It never changes: VMs are recognized by what was derived from it.
var instances = uuid.MustParse("6c0f7a52-7d0b-5b8e-9a53-1f5d3c1b9e40")

// InstanceUUID returns the instance UUID of one VM: the UUIDv5 of "<member UID>/<group UID>/<ordinal>/<incarnation>". Members
// can show the same group UID, so the group UID alone is no identity. The UUID is for lookup and for recognizing a VM that was not
// recorded; it is no lock, because vCenter can assign another. The text is unambiguous: a member UID has no slash, and the last two
// elements are numbers.
func InstanceUUID(group vsphere.GroupKey, ordinal, incarnation int32) string {
	name := string(group) + "/" + strconv.Itoa(int(ordinal)) + "/" + strconv.Itoa(int(incarnation))
	return uuid.NewSHA1(instances, []byte(name)).String()
}

// Genuine reports whether a VM with a stamp has the instance UUID of a VM that the group of the stamp cloned or adopted. A copy has
// another: vCenter gives no two VMs the same.
func Genuine(vm *vsphere.VM) bool {
	s := vm.Stamp
	if s.UUID != "" {
		return strings.EqualFold(vm.InstanceUUID, s.UUID)
	}
	return strings.EqualFold(vm.InstanceUUID, InstanceUUID(s.Key(), s.Ordinal, s.Incarnation))
}

// maxReleased bounds the search for the incarnation of a VM that was released. Beyond it, a VM counts as another one's.
const maxReleased = 32

// WasGenuine reports whether an instance UUID is that of a VM that a group cloned for an ordinal.
func WasGenuine(group vsphere.GroupKey, ordinal int32, uuid string) bool {
	for n := range int32(maxReleased) {
		if strings.EqualFold(uuid, InstanceUUID(group, ordinal, n)) {
			return true
		}
	}
	return false
}

// VMName returns the name of the VM of an ordinal. Within the group's folder the name is the lock: vCenter
// refuses a second VM of that name.
func VMName(group string, ordinal int32) string {
	return group + "-" + strconv.Itoa(int(ordinal))
}

// ordinalOf returns the ordinal whose VM would be called name.
func ordinalOf(group, name string) (int32, bool) {
	digits, ok := strings.CutPrefix(name, group+"-")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != digits {
		return 0, false // "-01" and "-+1" are names that the group never uses
	}
	return int32(n), true
}
