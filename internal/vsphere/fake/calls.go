package fake

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Clone submits a clone: see vsphere.Server. A taken name fails the task at its end. A folder outside of the root is
// refused at once.
func (s *Server) Clone(ctx context.Context, req vsphere.CloneRequest) error {
	c := call{
		Operation: vsphere.Operation{Kind: vsphere.OpClone, Ordinal: req.Stamp.Ordinal},
		Group:     req.Stamp.Key(), Name: req.Name, host: req.Template.Host, revision: req.Stamp.Revision,
		op: fmt.Sprintf("clone %s from %s", req.Name, req.Template.Name),
	}
	if err := vsphere.CheckFence(ctx); err != nil {
		return err
	}
	if s.movedOut(req.Folder) {
		return fail(vsphere.KindConflict, c.op, "the folder is not below the operator's root folder")
	}
	guest, err := req.GuestInfo()
	if err != nil {
		return &vsphere.Error{Kind: vsphere.KindSpec, Op: c.op, Err: err}
	}
	c.check = func() (bool, *vsphere.Error) {
		for _, t := range s.templates {
			if t.Ref == req.Template.Ref {
				if req.Linked && !t.HasSnapshot {
					return false, fail(vsphere.KindSpec, c.op, "the template has no snapshot")
				}
				return false, nil
			}
		}
		return false, fail(vsphere.KindNotFound, c.op, "the template does not exist any more")
	}
	c.effect = func() *vsphere.Error {
		if _, ok := s.folders[req.Folder]; !ok {
			return fail(vsphere.KindNotFound, c.op, "the folder does not exist any more")
		}
		if other, ok := s.taken(req.Folder, req.Name); ok {
			err := fail(vsphere.KindNameTaken, c.op, "the name is taken in the folder")
			err.Object = other
			return err
		}
		if n := req.RootDiskGiB; n != 0 && (req.Linked || int64(n)<<30 < req.Template.RootDiskBytes) {
			return fail(vsphere.KindSpec, c.op, "the clone's disk cannot have the size")
		}
		if n := req.CoresPerSocket; n != 0 && req.CPU%n != 0 {
			return fail(vsphere.KindSpec, c.op, "the number of CPUs is no multiple of the cores per socket")
		}
		stamp, hot := req.Stamp, s.opt.HotAdd
		hot.CoresPerSocket = cmp.Or(req.CoresPerSocket, vsphere.FittingCores(req.CPU, cmp.Or(req.Template.CoresPerSocket, hot.CoresPerSocket)))
		if hot.Memory && hot.MemoryLimitMiB == 0 {
			hot.MemoryLimitMiB = 16 * req.MemoryMiB
		}
		vm := s.addVM(&vsphere.VM{
			Name: req.Name, Folder: req.Folder, InstanceUUID: req.UUID, CPU: req.CPU, MemoryMiB: req.MemoryMiB, RootDiskGiB: req.RootDiskGiB, DataDisks: WithDataDisks("", req.DataDisks), HotAdd: hot, Stamp: &stamp,
		})
		s.networks[vm.Ref] = req.Placement.Network
		s.rootDisks[vm.Ref] = rootDisk{sizeGiB: max(req.RootDiskGiB, int32(req.Template.RootDiskBytes>>30))}
		s.notes[vm.Ref] = req.Note
		s.inherit(vm.Ref, req.Template.Ref, guest)
		return nil
	}
	return s.submit(ctx, c)
}

// addVM adds a VM that is powered off.
func (s *Server) addVM(vm *vsphere.VM) *vsphere.VM {
	vm.Ref = s.ref(vsphere.TypeVirtualMachine, "vm-")
	vm.Connection, vm.Power, vm.ChangeVersion = vsphere.Connected, vsphere.PoweredOff, "1"
	s.vms[vm.Ref] = vm
	s.touched(vm)
	return vm
}

// PowerOn submits a power operation: see vsphere.Server. A VM with a tombstone is refused.
func (s *Server) PowerOn(ctx context.Context, t vsphere.Target) error {
	return s.onVM(ctx, vsphere.OpPowerOn, "power on", t, func(vm *vsphere.VM, op string) (bool, *vsphere.Error) {
		if vm.Tombstone {
			return false, fail(vsphere.KindConflict, op, "the VM is marked to be destroyed")
		}
		return vm.Power == vsphere.PoweredOn, nil
	}, func(vm *vsphere.VM, _ string) *vsphere.Error {
		s.setPower(vm, vsphere.PoweredOn)
		return nil
	})
}

// PowerOff submits a power operation: see vsphere.Server.
func (s *Server) PowerOff(ctx context.Context, t vsphere.Target) error {
	return s.onVM(ctx, vsphere.OpPowerOff, "power off", t, isOff, s.powerOff)
}

// ShutdownGuest asks the guest to shut down: see vsphere.Server. Step completes the shutdown.
func (s *Server) ShutdownGuest(ctx context.Context, t vsphere.Target) error {
	return s.onVM(ctx, vsphere.OpShutdownGuest, "shut down the guest of", t, func(vm *vsphere.VM, op string) (bool, *vsphere.Error) {
		if vm.Power == vsphere.PoweredOn && !vm.ToolsRunning {
			return false, fail(vsphere.KindTransient, op, "VMware Tools do not run")
		}
		return isOff(vm, op)
	}, s.powerOff)
}

func isOff(vm *vsphere.VM, _ string) (bool, *vsphere.Error) {
	return vm.Power == vsphere.PoweredOff, nil
}

func (s *Server) powerOff(vm *vsphere.VM, _ string) *vsphere.Error {
	s.setPower(vm, vsphere.PoweredOff)
	return nil
}

// setPower sets the power state and all derived values.
func (s *Server) setPower(vm *vsphere.VM, state vsphere.PowerState) {
	if was := vm.Power; state == vsphere.PoweredOn && was != vsphere.PoweredOn && was != vsphere.Suspended {
		vm.BootTime = s.opt.Now().UTC().Round(0)
	} else if state == vsphere.PoweredOff {
		vm.BootTime = time.Time{}
		delete(s.written, vm.Ref)
	}
	vm.Power = state
	on := state == vsphere.PoweredOn && !s.opt.ManualGuest
	vm.ToolsRunning, vm.HeartbeatGreen, vm.GuestIP = on, on, ""
	if on {
		n, _ := strconv.Atoi(vm.Ref.Value[len("vm-"):])
		vm.GuestIP = fmt.Sprintf("10.0.%d.%d", n/250, n%250+1)
	}
	s.touched(vm)
}

// Mark writes the tombstone: see vsphere.Server.
func (s *Server) Mark(ctx context.Context, t vsphere.Target) error {
	return s.onVM(ctx, vsphere.OpMark, "mark", t, func(vm *vsphere.VM, op string) (bool, *vsphere.Error) {
		return vm.Tombstone, unchanged(vm, t, op)
	}, func(vm *vsphere.VM, op string) *vsphere.Error {
		if err := unchanged(vm, t, op); err != nil {
			return err
		}
		vm.Tombstone = true
		s.reconfigured(vm)
		return nil
	})
}

// Release replaces the stamp with a release mark: see vsphere.Server.
func (s *Server) Release(ctx context.Context, t vsphere.Target) error {
	mark := vsphere.ReleaseMark{GroupID: t.ID, Namespace: t.Namespace, Ordinal: t.Ordinal}
	return s.onVM(ctx, vsphere.OpRelease, "release", t, func(vm *vsphere.VM, op string) (bool, *vsphere.Error) {
		if t.Namespace == "" {
			return false, fail(vsphere.KindSpec, op, "a retention mark needs the group's namespace")
		}
		mark.Revision, mark.UUID = vm.Stamp.Revision, vm.Stamp.UUID
		return false, unchanged(vm, t, op)
	}, func(vm *vsphere.VM, op string) *vsphere.Error {
		if err := unchanged(vm, t, op); err != nil {
			return err
		}
		s.touched(vm)
		vm.Stamp, vm.Tombstone, vm.Released = nil, false, &mark
		s.reconfigured(vm)
		return nil
	})
}

// Restamp replaces the installation in the stamp: see vsphere.Server.
func (s *Server) Restamp(ctx context.Context, t vsphere.Target, installation string) error {
	return s.onVM(ctx, vsphere.OpRestamp, "stamp anew", t, func(vm *vsphere.VM, op string) (bool, *vsphere.Error) {
		return false, unchanged(vm, t, op)
	}, func(vm *vsphere.VM, op string) *vsphere.Error {
		if err := unchanged(vm, t, op); err != nil {
			return err
		}
		vm.Stamp = new(*vm.Stamp)
		vm.Stamp.Installation = installation
		s.reconfigured(vm)
		return nil
	})
}

// unchanged refuses a VM that changed since its observation.
func unchanged(vm *vsphere.VM, t vsphere.Target, op string) *vsphere.Error {
	if t.ChangeVersion != "" && t.ChangeVersion != vm.ChangeVersion {
		return fail(vsphere.KindConflict, op, "the VM was changed since it was observed")
	}
	return nil
}

// reconfigured gives a VM another change version.
func (s *Server) reconfigured(vm *vsphere.VM) {
	n, _ := strconv.Atoi(vm.ChangeVersion)
	vm.ChangeVersion = strconv.Itoa(n + 1)
	s.touched(vm)
}

// Destroy submits the destruction of a marked VM: see vsphere.Server.
func (s *Server) Destroy(ctx context.Context, t vsphere.Target) error {
	return s.onVM(ctx, vsphere.OpDestroy, "destroy", t, func(vm *vsphere.VM, op string) (bool, *vsphere.Error) {
		switch {
		case !vm.Tombstone:
			return false, fail(vsphere.KindForeign, op, "the VM is not marked to be destroyed")
		case !s.below(vm.Folder):
			return false, fail(vsphere.KindForeign, op, "the VM is outside of the operator's root folder")
		case vm.Power != vsphere.PoweredOff:
			return false, fail(vsphere.KindBusy, op, "the VM is not powered off")
		case len(s.disks[vm.Ref]) > 0:
			foreign := &vsphere.ForeignDisks{Path: s.folders[vm.Folder].Path + "/" + vm.Name, Disks: s.disks[vm.Ref], ChangeVersion: t.ChangeVersion}
			return false, &vsphere.Error{Kind: vsphere.KindForeignDisk, Op: op, Object: vm.Ref, Err: foreign}
		}
		return false, nil
	}, func(vm *vsphere.VM, _ string) *vsphere.Error {
		s.touched(vm)
		delete(s.vms, vm.Ref)
		return nil
	})
}

// onVM submits an operation on an observed VM, which must belong to the target's owner. If the VM does not exist, now
// or at the end of the task, all operations except Destroy and Release fail.
func (s *Server) onVM(ctx context.Context, kind vsphere.OperationKind, verb string, t vsphere.Target,
	check func(*vsphere.VM, string) (bool, *vsphere.Error), effect func(*vsphere.VM, string) *vsphere.Error) error {
	return s.onVMWith(ctx, kind, verb, "", t, check, effect)
}

// onVMWith is onVM for an operation whose failure depends on a revision.
func (s *Server) onVMWith(ctx context.Context, kind vsphere.OperationKind, verb, revision string, t vsphere.Target,
	check func(*vsphere.VM, string) (bool, *vsphere.Error), effect func(*vsphere.VM, string) *vsphere.Error) error {
	c := call{
		Operation: vsphere.Operation{Kind: kind, Ordinal: t.Ordinal, VM: t.VM},
		Group:     t.ID.Key(), Name: t.VM.Value, op: verb + " " + t.VM.Value, revision: revision,
	}
	s.mu.Lock()
	if vm, ok := s.vms[t.VM]; ok {
		c.Name, c.op, c.met = vm.Name, verb+" "+vm.Name, vm.Met()
	}
	s.mu.Unlock()
	missing := func() *vsphere.Error {
		if kind == vsphere.OpDestroy || kind == vsphere.OpRelease {
			return nil
		}
		return fail(vsphere.KindNotFound, c.op, "the VM does not exist")
	}
	c.check = func() (bool, *vsphere.Error) {
		vm, ok := s.vms[t.VM]
		if !ok {
			return true, missing()
		}
		if kind == vsphere.OpRelease && shown(vm).Released.Of(t) {
			return true, nil
		}
		if vm.Stamp == nil || vm.Stamp.GroupID != t.ID || vm.Stamp.Ordinal != t.Ordinal {
			return false, fail(vsphere.KindForeign, c.op, "the VM does not carry the group's stamp")
		}
		if vm.Question != "" && kind != vsphere.OpPowerOff && kind != vsphere.OpShutdownGuest {
			err := fail(vsphere.KindBusy, c.op, "the VM waits for an answer: answer its question in the vSphere Client")
			if !slices.Contains(readsAfresh, kind) {
				s.failed(c, err)
			}
			return false, err
		}
		return check(vm, c.op)
	}
	c.effect = func() *vsphere.Error {
		vm, ok := s.vms[t.VM]
		if !ok {
			return missing()
		}
		return effect(vm, c.op)
	}
	return s.submit(ctx, c)
}
