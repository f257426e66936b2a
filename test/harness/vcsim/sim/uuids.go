package sim

import (
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// uuids are the used instance UUIDs. If another VM has the UUID of a new VM, vCenter assigns a new UUID ("VirtualCenter detects an
// identifier conflict"). It does not refuse the VM.
type uuids struct {
	mo.ManagedEntity
	mu    sync.Mutex
	users map[string]types.ManagedObjectReference
}

// Reference of the handler.
func (*uuids) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "InstanceUuids", Value: "instance-uuids"}
}

// PutObject does nothing, because a new VM gets its UUID later.
func (*uuids) PutObject(*simulator.Context, mo.Reference) {}

// UpdateObject does nothing, because the changing code calls uuids.
func (*uuids) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}

// RemoveObject frees the UUID of a deleted VM.
func (u *uuids) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, user := range u.users {
		if user == ref {
			delete(u.users, id)
		}
	}
}

// reserve returns the wanted UUID, or a new one if it is taken, and reserves it for the caller.
func (u *uuids) reserve(wanted string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, taken := u.users[strings.ToLower(wanted)]; taken || wanted == "" {
		wanted = uuid.NewString()
	}
	if u.users == nil {
		u.users = map[string]types.ManagedObjectReference{}
	}
	u.users[strings.ToLower(wanted)] = types.ManagedObjectReference{}
	return wanted
}

// assign assigns a reserved UUID to the new VM of a task, or frees it if the task made none.
func (u *uuids) assign(id string, result types.AnyType) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if ref, ok := result.(types.ManagedObjectReference); ok {
		u.users[strings.ToLower(id)] = ref
	} else {
		delete(u.users, strings.ToLower(id))
	}
}
