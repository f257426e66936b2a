package v1alpha1

import (
	"cmp"
	"slices"
)

// VMShape is the hardware and the origin of a VM: the fields of spec in which the VMs of two revisions can differ. status records the shapes of VMs that spec
// does not describe any more.
type VMShape struct {
	// cpu is as in spec.
	// +optional
	CPU int32 `json:"cpu,omitempty"`
	// coresPerSocket is as in spec.
	// +optional
	CoresPerSocket int32 `json:"coresPerSocket,omitempty"`
	// memory is as in spec.
	// +optional
	Memory int32 `json:"memory,omitempty"`
	// template is as in spec.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Template string `json:"template,omitempty"`
	// disks is as in spec.
	// +optional
	Disks *Disks `json:"disks,omitempty"`
	// placement is as in spec.
	// +optional
	Placement *Placement `json:"placement,omitempty"`
	// cloneMode is as in spec.
	// +optional
	CloneMode CloneMode `json:"cloneMode,omitempty"`
	// userDataSecretRef is as in spec.
	// +optional
	UserDataSecretRef *LocalObjectReference `json:"userDataSecretRef,omitempty"`
}

// RootDiskGiB returns the wanted size of the root disk in GiB. Zero means that of the template.
func (in VMShape) RootDiskGiB() int32 {
	if in.Disks == nil || in.Disks.Root == nil {
		return 0
	}
	return in.Disks.Root.SizeGiB
}

// DataDisks returns the wanted data disks, sorted by name: their order in spec has no meaning. A member that ignores the schema can show any number. Of more than
// MaxDataDisks, it returns one more.
func (in VMShape) DataDisks() []DataDisk {
	if in.Disks == nil {
		return nil
	}
	return slices.SortedFunc(slices.Values(in.Disks.Data[:min(len(in.Disks.Data), MaxDataDisks+1)]), func(a, b DataDisk) int { return cmp.Compare(a.Name, b.Name) })
}

// Shape returns the shape of the VMs of a spec. It shares no memory with spec.
func (in *VmGroupSpec) Shape() VMShape {
	shape := in.shape()
	return *shape.DeepCopy()
}

// SetShape makes spec one for VMs of this shape. It shares no memory with shape.
func (in *VmGroupSpec) SetShape(shape VMShape) {
	shape = *shape.DeepCopy()
	in.CPU, in.CoresPerSocket, in.Memory, in.Template = shape.CPU, shape.CoresPerSocket, shape.Memory, shape.Template
	in.Disks, in.Placement, in.CloneMode, in.UserDataSecretRef = shape.Disks, shape.Placement, shape.CloneMode, shape.UserDataSecretRef
}

// HasShape reports whether the VMs of a spec have this shape. Unset fields and their defaults are equal.
func (in *VmGroupSpec) HasShape(shape VMShape) bool {
	a, b := in.shape().filled(), shape.filled()
	same := *a.Placement == *b.Placement && *a.UserDataSecretRef == *b.UserDataSecretRef && a.RootDiskGiB() == b.RootDiskGiB() && slices.Equal(a.DataDisks(), b.DataDisks())
	a.Disks, a.Placement, a.UserDataSecretRef = b.Disks, b.Placement, b.UserDataSecretRef
	return same && a == b
}

// FillsSockets reports whether cpu is a multiple of coresPerSocket. The schema requires it, but the group can come from an API server without the schema.
func (in *VmGroupSpec) FillsSockets() bool {
	return in.CoresPerSocket == 0 || in.CoresPerSocket > 0 && in.CPU%in.CoresPerSocket == 0
}

// shape shares memory with spec.
func (in *VmGroupSpec) shape() VMShape {
	return VMShape{
		CPU: in.CPU, CoresPerSocket: in.CoresPerSocket, Memory: in.Memory, Template: in.Template,
		Disks: in.Disks, Placement: in.Placement, CloneMode: in.CloneMode, UserDataSecretRef: in.UserDataSecretRef,
	}
}

// filled returns the shape with all defaults.
func (in VMShape) filled() VMShape {
	if in.CloneMode == "" {
		in.CloneMode = CloneFull
	}
	if in.Placement == nil {
		in.Placement = &Placement{}
	}
	if in.UserDataSecretRef == nil {
		in.UserDataSecretRef = &LocalObjectReference{}
	}
	return in
}
