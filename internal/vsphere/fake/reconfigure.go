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
		return r.Done(*vm) && (r.Network.IsZero() || s.networks[vm.Ref] == r.Network)
	}
	return s.onVMWith(ctx, vsphere.OpReconfigure, "reconfigure", r.Revision, r.Target, func(vm *vsphere.VM, op string) (bool, *vsphere.Error) {
		if vm.Tombstone {
			return false, fail(vsphere.KindConflict, op, "the VM is marked to be destroyed")
		}
		return done(vm), nil
	}, func(vm *vsphere.VM, op string) *vsphere.Error {
		if err := unchanged(vm, r.Target, op); err != nil {
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
		if can, why := vsphere.CanHotAdd(*vm, want.CPU, want.MemoryMiB); vm.Power != vsphere.PoweredOff && !can {
			return fail(vsphere.KindOffOnly, op, why)
		}
		vm.CPU, vm.MemoryMiB = want.CPU, want.MemoryMiB
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

// lacked returns a privilege that a change needs and the account lacks, or "".
func (s *Server) lacked(r vsphere.Reconfiguration, vm *vsphere.VM) string {
	for p, needed := range map[string]bool{
		vsphere.PrivilegeCPUs: r.CPU != 0 && r.CPU != vm.CPU, vsphere.PrivilegeMemory: r.MemoryMiB != 0 && r.MemoryMiB != vm.MemoryMiB,
		vsphere.PrivilegeDevices: !r.Network.IsZero(), vsphere.PrivilegeExtraConfig: r.Revision != "",
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
