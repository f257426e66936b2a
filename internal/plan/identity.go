package plan

import (
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// instances is the namespace of instance UUIDs. It never changes, because VMs are recognized by UUIDs derived from it.
var instances = uuid.MustParse("6c0f7a52-7d0b-5b8e-9a53-1f5d3c1b9e40")

// InstanceUUID returns the instance UUID of one VM: the UUIDv5 of "<member UID>/<group UID>/<ordinal>/<incarnation>". The group UID alone is no identity, because different
// members can have the same one. The UUID serves to find a VM and to recognize an unrecorded one. It is no lock, because vCenter can assign another. The text is unambiguous: a
// member UID has no slash, and the last two elements are numbers.
func InstanceUUID(group vsphere.GroupKey, ordinal, incarnation int32) string {
	name := string(group) + "/" + strconv.Itoa(int(ordinal)) + "/" + strconv.Itoa(int(incarnation))
	return uuid.NewSHA1(instances, []byte(name)).String()
}

// Genuine reports whether a stamped VM has the instance UUID of a VM that the stamp's group cloned or adopted. A copy has another, because vCenter gives no two VMs the same.
func Genuine(vm *vsphere.VM) bool {
	s := vm.Stamp
	if s.UUID != "" {
		return strings.EqualFold(vm.InstanceUUID, s.UUID)
	}
	return strings.EqualFold(vm.InstanceUUID, InstanceUUID(s.Key(), s.Ordinal, s.Incarnation))
}

// maxReleased bounds the search for the incarnation of a released VM. Beyond this bound, a VM counts as foreign.
const maxReleased = 32

// WasGenuine reports whether an instance UUID belongs to a VM that a group cloned for an ordinal.
func WasGenuine(group vsphere.GroupKey, ordinal int32, uuid string) bool {
	for n := range int32(maxReleased) {
		if strings.EqualFold(uuid, InstanceUUID(group, ordinal, n)) {
			return true
		}
	}
	return false
}

// VMName returns the VM name of an ordinal. Within the group's folder the name is the lock: vCenter refuses a second VM with the same name.
func VMName(group string, ordinal int32) string {
	return group + "-" + strconv.Itoa(int(ordinal))
}

// ordinalOf returns the ordinal whose VM would have this name.
func ordinalOf(group, name string) (int32, bool) {
	digits, ok := strings.CutPrefix(name, group+"-")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != digits {
		return 0, false // the group never uses "-01" and "-+1"
	}
	return int32(n), true
}
