package fake

import (
	"fmt"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Hands act as a user of vCenter's own client, without the operator. VMs are given by name, or by the value of their reference if the name is not unique.
// A missing VM is an error in the test and panics. All groups that can observe a change are notified.
type Hands struct{ s *Server }

// ByHand returns Hands for changes without the operator.
func (s *Server) ByHand() Hands { return Hands{s} }

// must returns the VM with a name or reference.
func (s *Server) must(name string) *vsphere.VM {
	found := s.find(name)
	if len(found) != 1 {
		panic(fmt.Sprintf("fake: %d VMs are called %q, want 1", len(found), name))
	}
	return found[0]
}

// mustBeFree panics if a name is taken, because vCenter refuses that.
func (s *Server) mustBeFree(folder vsphere.Ref, name string) {
	if other, ok := s.taken(folder, name); ok {
		panic(fmt.Sprintf("fake: %s has the name %q already", other, name))
	}
}

// do runs f with the lock held.
func (h Hands) do(f func()) {
	h.s.mu.Lock()
	defer h.s.unlock()
	f()
}

// Edit changes any field of a VM except its Ref. Its change version stays unless f changes it.
func (h Hands) Edit(name string, f func(vm *vsphere.VM)) {
	h.do(func() {
		vm := h.s.must(name)
		h.s.touched(vm) // notifies the earlier owner
		f(vm)
		h.s.touched(vm)
	})
}

// AddForeignVM creates a VM without a stamp, powered on.
func (h Hands) AddForeignVM(folder vsphere.Ref, name string) vsphere.Ref {
	var vm *vsphere.VM
	h.do(func() {
		h.s.mustBeFree(folder, name)
		vm = h.s.addVM(&vsphere.VM{Name: name, Folder: folder, CPU: 1, MemoryMiB: 1024})
		vm.InstanceUUID = "foreign-" + vm.Ref.Value
		h.s.setPower(vm, vsphere.PoweredOn)
	})
	return vm.Ref
}

// SetCreated sets a VM's creation time.
func (h Hands) SetCreated(name string, at time.Time) {
	h.do(func() {
		if h.s.created == nil {
			h.s.created = map[vsphere.Ref]time.Time{}
		}
		h.s.created[h.s.must(name).Ref] = at
	})
}

// CopyVM clones a VM with its whole configuration, including stamp and tombstone, into its folder.
func (h Hands) CopyVM(name, as string) vsphere.Ref {
	var vm *vsphere.VM
	h.do(func() {
		c := clone(h.s.must(name))
		h.s.mustBeFree(c.Folder, as)
		c.Name = as
		vm = h.s.addVM(&c)
		h.s.rootDisks[vm.Ref] = h.s.rootDisks[h.s.must(name).Ref]
		vm.InstanceUUID = "copy-" + vm.Ref.Value // vCenter does not give two VMs the same UUID
		h.s.setPower(vm, vsphere.PoweredOff)
	})
	return vm.Ref
}

// PowerOn powers a VM on.
func (h Hands) PowerOn(name string) {
	h.do(func() { h.s.setPower(h.s.must(name), vsphere.PoweredOn) })
}

// PowerOff powers a VM off.
func (h Hands) PowerOff(name string) {
	h.do(func() { h.s.setPower(h.s.must(name), vsphere.PoweredOff) })
}

// Delete deletes a VM.
func (h Hands) Delete(name string) {
	h.do(func() {
		vm := h.s.must(name)
		h.s.touched(vm)
		delete(h.s.vms, vm.Ref)
	})
}

// Unregister removes a VM from the inventory, and returns the content of its files, for Register.
func (h Hands) Unregister(name string) (files vsphere.VM) {
	h.do(func() {
		vm := h.s.must(name)
		h.s.touched(vm)
		files = clone(vm)
		delete(h.s.vms, vm.Ref)
	})
	return files
}

// Register adds an unregistered VM in a folder of the root or, without a folder, outside of the root. The VM has another reference and the content of its
// files. It keeps its instance UUID unless another VM has it.
func (h Hands) Register(files vsphere.VM, folder vsphere.Ref) vsphere.Ref {
	if folder.IsZero() {
		folder = vsphere.FolderRef(outside)
	}
	var vm *vsphere.VM
	h.do(func() {
		c := clone(&files)
		c.Folder = folder
		h.s.mustBeFree(folder, c.Name)
		another := h.s.byUUID(c.InstanceUUID) != nil
		uuid := c.InstanceUUID
		vm = h.s.addVM(&c)
		if vm.InstanceUUID = uuid; another {
			vm.InstanceUUID = "registered-" + vm.Ref.Value
		}
		h.s.setPower(vm, files.Power)
	})
	return vm.Ref
}

// AttachDisks replaces the disks that were attached to a VM. Without disks it detaches them.
func (h Hands) AttachDisks(name string, disks ...vsphere.Disk) {
	h.do(func() {
		vm := h.s.must(name)
		h.s.disks[vm.Ref] = disks
		h.s.reconfigured(vm)
	})
}

// MoveOut moves a VM out of the operator's root folder.
func (h Hands) MoveOut(name string) {
	h.Edit(name, func(vm *vsphere.VM) { vm.Folder = vsphere.FolderRef(outside) })
}

// MoveInto moves a VM into a folder.
func (h Hands) MoveInto(name string, folder vsphere.Ref) {
	h.Edit(name, func(vm *vsphere.VM) {
		h.s.mustBeFree(folder, vm.Name)
		vm.Folder = folder
	})
}

// Rename renames a VM.
func (h Hands) Rename(name, to string) {
	h.do(func() {
		vm := h.s.must(name)
		h.s.mustBeFree(vm.Folder, to)
		vm.Name = to
		h.s.reconfigured(vm)
	})
}

// MoveFolderOut moves a folder with its content out of the operator's root folder. MoveFolderInto moves it back, or elsewhere.
func (h Hands) MoveFolderOut(folder vsphere.Ref) {
	h.MoveFolderInto(folder, vsphere.FolderRef(outside))
}

// MoveFolderInto moves a folder with its content into another one.
func (h Hands) MoveFolderInto(folder, parent vsphere.Ref) {
	h.do(func() {
		f := h.s.folders[folder]
		if f.Parent = parent; h.s.below(parent) {
			f.Path = h.s.folders[parent].Path + "/" + f.Name
		}
		h.s.tellOwners(folder, "")
	})
}

// AddFolder creates a folder in another one.
func (h Hands) AddFolder(parent vsphere.Ref, name string) (made vsphere.Ref) {
	h.do(func() {
		h.s.mustBeFree(parent, name)
		made = h.s.addFolder(parent, name).Ref
	})
	return made
}

// RenameFolder gives a folder another name.
func (h Hands) RenameFolder(folder vsphere.Ref, to string) {
	h.do(func() {
		f := h.s.folders[folder]
		h.s.mustBeFree(f.Parent, to)
		f.Name, f.Path = to, h.s.folders[f.Parent].Path+"/"+to
		h.s.tellOwners(folder, "")
	})
}

// DeleteFolder deletes a folder with its content.
func (h Hands) DeleteFolder(folder vsphere.Ref) {
	h.do(func() { h.s.deleteTree(folder) })
}

func (s *Server) deleteTree(folder vsphere.Ref) {
	for _, ref := range inOrder(s.vms) {
		if vm := s.vms[ref]; vm.Folder == folder {
			s.touched(vm)
			delete(s.vms, ref)
		}
	}
	for _, ref := range inOrder(s.folders) {
		if s.folders[ref].Parent == folder {
			s.deleteTree(ref)
		}
	}
	s.removeFolder(folder)
}

// Tree returns the inventory below the root for assertions, with one "path state" line per VM in the order of creation: "team-a/shop/web.1a2b3c4d/web-0
// PoweredOn".
func (s *Server) Tree() string {
	var b strings.Builder
	for _, vm := range s.VMs() {
		if path := s.pathOf(vm.Folder); strings.HasPrefix(path, rootPath) {
			fmt.Fprintf(&b, "%s/%s %s\n", strings.TrimPrefix(strings.TrimPrefix(path, rootPath), "/"), vm.Name, vm.Power)
		}
	}
	return b.String()
}
