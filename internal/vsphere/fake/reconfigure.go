package fake

import (
	"context"
	"errors"
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Reconfigure changes size, network and revision in one step: see vsphere.Server. A change that a running VM refuses fails at the end of
// the task.
func (s *Server) Reconfigure(ctx context.Context, r vsphere.Reconfiguration) error {
	done := func(vm *vsphere.VM) bool {
		return r.Done(*vm) && (r.Network.IsZero() || s.networks[vm.Ref] == r.Network) && r.RootDiskGiB <= min(s.rootDisks[vm.Ref].sizeGiB, vm.RootDiskGiB)
	}
	return s.onVMWith(ctx, r.Kind(), "reconfigure", r.Revision, r.Target, func(vm *vsphere.VM, op string) (bool, *vsphere.Error) {
		if vm.Tombstone {
			return false, fail(vsphere.KindConflict, op, "the VM is marked to be destroyed")
		}
		return done(vm), nil
	}, func(vm *vsphere.VM, op string) *vsphere.Error {
		if err := unchanged(vm, r.Target, op); err != nil {
			return err
		}
		if err := s.blocked(vm, r, op); err != nil {
			return err
		}
		if p := s.lacked(r, vm); p != "" {
			return &vsphere.Error{Kind: vsphere.KindPermission, Op: op, Privilege: p, Err: errors.New("the account lacks " + p)}
		}
		want := *vm
		if r.CPU != 0 {
			want.CPU = r.CPU
		}
		if r.MemoryMiB != 0 {
			want.MemoryMiB = r.MemoryMiB
		}
		if r.CoresPerSocket != 0 {
			want.HotAdd.CoresPerSocket = r.CoresPerSocket
		}
		if can, why := vsphere.CanHotAdd(*vm, want.CPU, r.CoresPerSocket, want.MemoryMiB); vm.Power != vsphere.PoweredOff && !can {
			return fail(vsphere.KindOffOnly, op, why)
		}
		if n := want.HotAdd.CoresPerSocket; n != 0 && want.CPU%n != 0 {
			return fail(vsphere.KindSpec, op, "the number of CPUs is no multiple of the cores per socket")
		}
		if err := s.grow(vm, r, op); err != nil {
			return err
		}
		vm.CPU, vm.HotAdd.CoresPerSocket, vm.MemoryMiB, vm.RootDiskGiB = want.CPU, want.HotAdd.CoresPerSocket, want.MemoryMiB, max(vm.RootDiskGiB, r.RootDiskGiB)
		vm.DataDisks = WithDataDisks(vm.DataDisks, r.DataDisks)
		if r.Identify {
			vm.DataDisks = Identified(vm.DataDisks)
		}
		if !r.Network.IsZero() {
			s.networks[vm.Ref] = r.Network
		}
		if r.Revision != "" {
			vm.Stamp = new(*vm.Stamp)
			vm.Stamp.Revision = r.Revision
		}
		s.reconfigured(vm)
		return nil
	})
}

// rootDisk is the first disk of a VM.
type rootDisk struct {
	sizeGiB int32
	// ide is true if the disk grows only while the VM is off.
	ide bool
	// snapshots of the VM, by name.
	snapshots []string
}

// blocked refuses a larger disk because of snapshots or of a linked clone, as package govmomi does before it sends a request.
func (s *Server) blocked(vm *vsphere.VM, r vsphere.Reconfiguration, op string) *vsphere.Error {
	disk := s.rootDisks[vm.Ref]
	blocked := vsphere.GrowthBlocked{SizeGiB: r.RootDiskGiB, ChangeVersion: r.ChangeVersion}
	data := vm.DataDisks.Growing(r.DataDisks)
	if r.RootDiskGiB <= disk.sizeGiB && data != nil {
		blocked.Disk, blocked.SizeGiB = data.Name, data.SizeGiB
	}
	switch {
	case r.RootDiskGiB <= disk.sizeGiB && data == nil:
		return nil
	case len(disk.snapshots) > 0:
		blocked.Blocker, blocked.Remedy = "it has snapshot "+disk.snapshots[0], "Remove the snapshots in vCenter"
	case vm.Stamp.Linked() && blocked.Disk == "":
		blocked.Blocker, blocked.Remedy = "the VM is a linked clone", "Have the VM replaced by a full clone"
	default:
		return nil
	}
	return &vsphere.Error{Kind: vsphere.KindGrowthBlocked, Op: op, Object: vm.Ref, Err: &blocked}
}

// grow gives the first disk of a VM a capacity, or refuses it.
func (s *Server) grow(vm *vsphere.VM, r vsphere.Reconfiguration, op string) *vsphere.Error {
	disk := s.rootDisks[vm.Ref]
	if _, known := vm.DataDisks.Attached(); !known && len(r.DataDisks) > 0 {
		return fail(vsphere.KindSpec, op, "the list of data disks is malformed")
	}
	for _, d := range r.DataDisks {
		if d.Had && !vm.DataDisks.Has([]vsphere.DataDisk{{Name: d.Name}}) {
			return fail(vsphere.KindSpec, op, "the list of data disks lacks "+d.Name)
		}
	}
	if changes := r.RootDiskGiB > disk.sizeGiB || !vm.DataDisks.Has(r.DataDisks); !changes {
		return nil
	}
	if disk.ide && vm.Power != vsphere.PoweredOff {
		return fail(vsphere.KindOffOnly, op, "the root disk is on an IDE controller")
	}
	disk.sizeGiB = max(disk.sizeGiB, r.RootDiskGiB)
	s.rootDisks[vm.Ref] = disk
	return nil
}

// changeDisk changes the first disk of a VM as a user of vCenter does.
func (s *Server) changeDisk(name string, change func(*rootDisk)) {
	s.mu.Lock()
	defer s.unlock()
	vm := s.must(name)
	disk := s.rootDisks[vm.Ref]
	change(&disk)
	s.rootDisks[vm.Ref] = disk
	s.reconfigured(vm)
}

// Snapshot takes a snapshot of a VM, and RemoveSnapshots removes all of them.
func (s *Server) Snapshot(name, snapshot string) {
	s.changeDisk(name, func(d *rootDisk) { d.snapshots = append(d.snapshots, snapshot) })
}

// RemoveSnapshots removes the snapshots of a VM.
func (s *Server) RemoveSnapshots(name string) {
	s.changeDisk(name, func(d *rootDisk) { d.snapshots = nil })
}

// MoveToIDE moves the first disk of a VM to an IDE controller.
func (s *Server) MoveToIDE(name string) { s.changeDisk(name, func(d *rootDisk) { d.ide = true }) }

// RootDiskGiB returns the capacity of a VM's first disk, for assertions.
func (s *Server) RootDiskGiB(name string) int32 {
	s.mu.Lock()
	defer s.unlock()
	return s.rootDisks[s.must(name).Ref].sizeGiB
}

// lacked returns a privilege that a change needs and the account lacks, or "".
func (s *Server) lacked(r vsphere.Reconfiguration, vm *vsphere.VM) string {
	for p, needed := range map[string]bool{
		vsphere.PrivilegeCPUs: r.CPU != 0 && r.CPU != vm.CPU || r.CoresPerSocket != 0 && r.CoresPerSocket != vm.HotAdd.CoresPerSocket, vsphere.PrivilegeMemory: r.MemoryMiB != 0 && r.MemoryMiB != vm.MemoryMiB,
		vsphere.PrivilegeDisks: r.RootDiskGiB > s.rootDisks[vm.Ref].sizeGiB || vm.DataDisks.Growing(r.DataDisks) != nil, vsphere.PrivilegeDevices: !r.Network.IsZero(), vsphere.PrivilegeExtraConfig: r.Revision != "",
	} {
		if needed && slices.Contains(s.missing, p) {
			return p
		}
	}
	return ""
}

// NetworkOf returns the network of a VM's first adapter, for assertions. Zero means that of its template.
func (s *Server) NetworkOf(name string) vsphere.Ref {
	s.mu.Lock()
	defer s.unlock()
	return s.networks[s.must(name).Ref]
}
