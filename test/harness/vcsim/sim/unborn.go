package sim

import (
	"sync"

	"github.com/vmware/govmomi/vim25/types"
)

// unborn are the invisible VMs of running clones. Only their reserved names show that they exist. A vCenter has such VMs for a while.
type unborn struct {
	mu    sync.Mutex
	names map[childName]types.ManagedObjectReference
}

// childName is a name in a folder.
type childName struct {
	folder types.ManagedObjectReference
	name   string
}

// hold makes a clone hang as Options.HoldClone specifies, and reports whether it hangs. Until the VM is visible, the task's reference
// identifies it.
func (d *desk) hold(s *submission, folder types.ManagedObjectReference, name string) bool {
	if d.strict.holdClone == nil {
		return false
	}
	until, takesName := d.strict.holdClone(name)
	if until == nil {
		return false
	}
	if s.until = until; !takesName {
		return true
	}
	u, key := &d.strict.unborn, childName{folder, name}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.names == nil {
		u.names = map[childName]types.ManagedObjectReference{}
	}
	if _, taken := u.names[key]; taken {
		return true
	}
	u.names[key] = types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-unborn-" + name}
	s.born = func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.names, key)
	}
	return true
}

// check refuses a reserved name.
func (u *unborn) check(folder types.ManagedObjectReference, name string) types.BaseMethodFault {
	u.mu.Lock()
	defer u.mu.Unlock()
	if vm, ok := u.names[childName{folder, name}]; ok {
		return &types.DuplicateName{Name: name, Object: vm}
	}
	return nil
}
