package inventory

import (
	"sync"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Shown is the content of a stream so far: the base properties of each VM, and each folder. The stream reports only later differences. It does not report a
// state that another read saw between two answers and that was reverted by the second. Shown is safe for concurrent use.
type Shown struct {
	mu      sync.Mutex
	vms     map[vsphere.Ref]vsphere.VM
	folders map[vsphere.Ref]vsphere.Folder
	// complete is true after the complete first answer of the stream.
	complete bool
}

// NewShown returns the empty content of a new stream.
func NewShown() *Shown {
	return &Shown{vms: map[vsphere.Ref]vsphere.VM{}, folders: map[vsphere.Ref]vsphere.Folder{}}
}

// VM returns a VM from the stream. For an unknown VM it returns only the reference.
func (s *Shown) VM(ref vsphere.Ref) vsphere.VM {
	s.mu.Lock()
	defer s.mu.Unlock()
	vm := s.vms[ref]
	vm.Ref = ref
	return vm
}

// Folder returns a folder from the stream. For an unknown folder it returns only the reference.
func (s *Shown) Folder(ref vsphere.Ref) vsphere.Folder {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.folders[ref]
	f.Ref = ref
	return f
}

// PutVM sets the current content of a VM.
func (s *Shown) PutVM(vm vsphere.VM) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vms[vm.Ref] = vm
}

// PutFolder sets the current content of a folder.
func (s *Shown) PutFolder(f vsphere.Folder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.folders[f.Ref] = f
}

// Drop removes an object that the stream no longer shows.
func (s *Shown) Drop(ref vsphere.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.vms, ref)
	delete(s.folders, ref)
}

// Completed records that the first answer of the stream is complete.
func (s *Shown) Completed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.complete = true
}

// Complete reports whether the first answer of the stream is complete.
func (s *Shown) Complete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.complete
}

// All returns all shown VMs and folders, unordered.
func (s *Shown) All() (vms []vsphere.VM, folders []vsphere.Folder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	vms, folders = make([]vsphere.VM, 0, len(s.vms)), make([]vsphere.Folder, 0, len(s.folders))
	for _, vm := range s.vms {
		vms = append(vms, vm)
	}
	for _, f := range s.folders {
		folders = append(folders, f)
	}
	return vms, folders
}

// Difference is an object that the index and a stream show differently.
type Difference struct {
	Ref vsphere.Ref
	// Version numbers the index's content of the object and grows with each change.
	Version uint64
	// Both is true if both show the object below the root.
	Both bool
	// Unread is true if the stream shows another configuration of the VM than the index: a read failed, or returned an older configuration.
	Unread bool
}

// Differences returns the objects that the index and a stream show differently, sorted. Before the complete first answer of the stream it returns none. It
// excludes objects that wait for a verdict or have one.
func (x *Index) Differences(s *Shown) []Difference {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if !s.complete {
		return nil
	}
	out := append(x.folderDifferences(s), x.vmDifferences(s)...)
	sortDifferences(out)
	return out
}

// covers reports whether a stream shows a folder below the root. The caller holds the lock.
func (s *Shown) covers(folder, root vsphere.Ref) bool {
	_, shown := s.folders[folder]
	return shown || folder == root
}

func (x *Index) folderDifferences(s *Shown) (out []Difference) {
	for ref, f := range s.folders {
		switch e := x.folders[ref]; {
		case !s.covers(f.Parent, x.root):
		case e == nil:
			out = append(out, Difference{Ref: ref})
		case e.state == Elsewhere, e.state == Present && e.folder != f:
			out = append(out, Difference{Ref: ref, Version: e.version, Both: e.state == Present})
		}
	}
	for ref, e := range x.folders {
		if _, shown := s.folders[ref]; !shown && e.state == Present && ref != x.root {
			out = append(out, Difference{Ref: ref, Version: e.version})
		}
	}
	return out
}

func (x *Index) vmDifferences(s *Shown) (out []Difference) {
	for ref := range s.vms {
		vm := s.vms[ref]
		switch e := x.vms[ref]; {
		case !s.covers(vm.Folder, x.root):
		case e == nil:
			out = append(out, Difference{Ref: ref})
		case e.state == Present && e.configDiffers(&vm):
			out = append(out, Difference{Ref: ref, Version: e.version, Both: true, Unread: true})
		case e.state == Elsewhere, e.state == Present && !sameBase(e, vm):
			out = append(out, Difference{Ref: ref, Version: e.version, Both: e.state == Present})
		}
	}
	for ref, e := range x.vms {
		if _, shown := s.vms[ref]; !shown && e.state == Present {
			out = append(out, Difference{Ref: ref, Version: e.version})
		}
	}
	return out
}

// configDiffers reports whether a stream shows another configuration than the entry's. A stream shows only UUID, template flag and change version.
func (e *vmEntry) configDiffers(shown *vsphere.VM) bool {
	return shown.ChangeVersion != "" && (e.unread || shown.ChangeVersion != e.vm.ChangeVersion ||
		shown.InstanceUUID != e.vm.InstanceUUID || shown.IsTemplate != e.vm.IsTemplate)
}

// sameBase reports whether an entry has the base properties that a stream shows, except those of the configuration.
func sameBase(e *vmEntry, shown vsphere.VM) bool {
	keepConfig(&shown, &e.vm)
	return equalVM(&e.vm, &shown)
}
