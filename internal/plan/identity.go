package plan

import (
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// opaqueUIDs is the namespace of instance UUIDs for groups whose UID is no UUID. It never changes: VMs are
// recognized by what was derived from it.
var opaqueUIDs = uuid.MustParse("6c0f7a52-7d0b-5b8e-9a53-1f5d3c1b9e40")

// InstanceUUID returns the instance UUID of one VM: the UUIDv5 of "<ordinal>/<incarnation>" in the namespace of
// the group's UID. It is for lookup and for recognizing a VM that was not recorded; it is no lock, because
// vCenter may assign another.
func InstanceUUID(groupUID string, ordinal, incarnation int32) string {
	name := strconv.Itoa(int(ordinal)) + "/" + strconv.Itoa(int(incarnation))
	namespace, err := uuid.Parse(groupUID)
	if err != nil {
		namespace, name = opaqueUIDs, groupUID+"/"+name
	}
	return uuid.NewSHA1(namespace, []byte(name)).String()
}

// Genuine reports whether a VM with a stamp of the group has the instance UUID of a VM that the group cloned or took over. One that somebody copied has
// another: vCenter gives no two VMs the same.
func Genuine(groupUID string, vm *vsphere.VM) bool {
	s := vm.Stamp
	if s.UUID != "" {
		return strings.EqualFold(vm.InstanceUUID, s.UUID)
	}
	return strings.EqualFold(vm.InstanceUUID, InstanceUUID(groupUID, s.Ordinal, s.Incarnation))
}

// maxReleased bounds the search for the incarnation of a VM that was released. Beyond it, a VM counts as another one's.
const maxReleased = 32

// WasGenuine reports whether an instance UUID is that of a VM that a group cloned for an ordinal.
func WasGenuine(groupUID string, ordinal int32, uuid string) bool {
	for n := range int32(maxReleased) {
		if strings.EqualFold(uuid, InstanceUUID(groupUID, ordinal, n)) {
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
