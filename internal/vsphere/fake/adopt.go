package fake

import (
	"context"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// ReadFolder reads the VMs in a folder: see vsphere.Server. Outside of the root there is one folder, at path Outside.
func (s *Server) ReadFolder(ctx context.Context, path string) (vsphere.FolderContent, error) {
	s.mu.Lock()
	defer s.unlock()
	if err := s.available(ctx, "read folder "+path); err != nil {
		return vsphere.FolderContent{}, err
	}
	var content vsphere.FolderContent
	if path == Outside {
		content.Folder = vsphere.FolderRef(outside)
	}
	for _, f := range s.folders {
		if f.Path == path || f.Path == "/DC0/vm/"+path {
			content.Folder = f.Ref
		}
	}
	if content.Folder.IsZero() {
		return content, fail(vsphere.KindNotFound, "read folder "+path, "there is no such folder")
	}
	for _, ref := range inOrder(s.vms) {
		if vm := s.vms[ref]; vm.Folder == content.Folder {
			marked := vm.Stamp != nil || vm.Released != nil
			content.VMs = append(content.VMs, vsphere.FoundVM{VM: shown(vm), Created: s.created[ref], Marked: marked})
		}
	}
	return content, nil
}

// Claim writes a release mark: see vsphere.Server.
func (s *Server) Claim(ctx context.Context, a vsphere.Adoption) error {
	unchanged := func(vm *vsphere.VM, op string) *vsphere.Error {
		if vm.Folder != a.From.Folder || a.From.Stamp != nil || a.From.Released != nil {
			return fail(vsphere.KindForeign, op, "the VM does not lie in the folder that was granted")
		}
		return unchanged(vm, vsphere.Target{ChangeVersion: a.ChangeVersion}, op)
	}
	return s.onAdoption(ctx, vsphere.OpClaim, "claim", a, func(vm *vsphere.VM, op string) (bool, *vsphere.Error) {
		return false, unchanged(vm, op)
	}, func(vm *vsphere.VM, op string) *vsphere.Error {
		if err := unchanged(vm, op); err != nil {
			return err
		}
		mark := a.Mark
		vm.Released = &mark
		s.reconfigured(vm)
		return nil
	})
}

// Move moves a VM into the group's folder: see vsphere.Server.
func (s *Server) Move(ctx context.Context, a vsphere.Adoption) error {
	return s.onAdoption(ctx, vsphere.OpMove, "move", a, func(vm *vsphere.VM, _ string) (bool, *vsphere.Error) {
		return vm.Folder == a.Folder, nil
	}, func(vm *vsphere.VM, op string) *vsphere.Error {
		if other, taken := s.taken(a.Folder, vm.Name); taken && vm.Folder != a.Folder {
			err := fail(vsphere.KindNameTaken, op, "the name is taken in the folder")
			err.Object = other
			return err
		}
		s.touched(vm)
		vm.Folder = a.Folder
		s.touched(vm)
		return nil
	})
}

// Rename gives a VM the group's name: see vsphere.Server.
func (s *Server) Rename(ctx context.Context, a vsphere.Adoption) error {
	return s.onAdoption(ctx, vsphere.OpRename, "rename", a, func(vm *vsphere.VM, _ string) (bool, *vsphere.Error) {
		return vm.Name == a.Name, nil
	}, func(vm *vsphere.VM, op string) *vsphere.Error {
		if other, taken := s.taken(vm.Folder, a.Name); taken && other != a.VM {
			err := fail(vsphere.KindNameTaken, op, "the name is taken in the folder")
			err.Object = other
			return err
		}
		vm.Name = a.Name
		s.reconfigured(vm)
		return nil
	})
}

// Adopt writes the stamp: see vsphere.Server.
func (s *Server) Adopt(ctx context.Context, a vsphere.Adoption) error {
	unchanged := func(vm *vsphere.VM, op string) *vsphere.Error {
		switch {
		case vm.Folder != a.Folder || vm.Name != a.Name:
			return fail(vsphere.KindConflict, op, "the VM is not in the group's folder under its name yet")
		case a.Stamp.UUID == "" || !strings.EqualFold(vm.InstanceUUID, a.Stamp.UUID):
			return fail(vsphere.KindConflict, op, "the VM has another instance UUID")
		}
		return unchanged(vm, vsphere.Target{ChangeVersion: a.ChangeVersion}, op)
	}
	return s.onAdoption(ctx, vsphere.OpAdopt, "adopt", a, func(vm *vsphere.VM, op string) (bool, *vsphere.Error) {
		return false, unchanged(vm, op)
	}, func(vm *vsphere.VM, op string) *vsphere.Error {
		if err := unchanged(vm, op); err != nil {
			return err
		}
		s.touched(vm)
		stamp := a.Stamp
		vm.Stamp, vm.Released, vm.Tombstone = &stamp, nil, false
		s.reconfigured(vm)
		return nil
	})
}

// onAdoption submits a step of the adoption of a VM, which must match the adoption.
func (s *Server) onAdoption(ctx context.Context, kind vsphere.OperationKind, verb string, a vsphere.Adoption,
	check func(*vsphere.VM, string) (bool, *vsphere.Error), effect func(*vsphere.VM, string) *vsphere.Error) error {
	c := call{
		Operation: vsphere.Operation{Kind: kind, Ordinal: a.Stamp.Ordinal, VM: a.VM},
		Group:     a.Stamp.Key(), Name: a.Name, op: verb + " " + a.VM.Value + " for " + a.Name,
	}
	if err := vsphere.CheckFence(ctx); err != nil {
		return err
	}
	if s.movedOut(a.Folder) {
		return fail(vsphere.KindConflict, c.op, "the folder is not below the operator's root folder")
	}
	missing := func() *vsphere.Error { return fail(vsphere.KindNotFound, c.op, "the VM does not exist") }
	c.check = func() (bool, *vsphere.Error) {
		vm, ok := s.vms[a.VM]
		if !ok {
			return true, missing()
		}
		if a.Done(vm.Stamp) && !vm.Tombstone {
			return true, nil
		}
		if err := s.mayAdopt(vm, a, c.op); err != nil {
			return false, err
		}
		return check(vm, c.op)
	}
	c.effect = func() *vsphere.Error {
		vm, ok := s.vms[a.VM]
		if !ok {
			return missing()
		}
		return effect(vm, c.op)
	}
	return s.submit(ctx, c)
}

func (s *Server) mayAdopt(vm *vsphere.VM, a vsphere.Adoption, op string) *vsphere.Error {
	refuse := func(why string) *vsphere.Error { return fail(vsphere.KindForeign, op, why) }
	switch {
	case vm.Tombstone, vm.IsTemplate, !a.From.Carried(vm.Stamp, shown(vm).Released):
		return refuse("the VM is not the group's to adopt")
	case vm.Folder == a.Folder:
		return nil
	case !a.From.Folder.IsZero() && vm.Folder != a.From.Folder:
		return refuse("the VM does not lie in the folder that was granted")
	case a.From.Folder.IsZero() && !s.below(vm.Folder):
		return refuse("the VM is outside of the operator's root folder")
	}
	return nil
}
