package v1alpha1

// Disks specifies the virtual disks of each VM.
type Disks struct {
	// root is the first disk of the template, from which the guest boots. Unset means that it is as large as in the template.
	// +optional
	Root *RootDisk `json:"root,omitempty"`
	// data are further disks, which the operator creates on the controller of the root disk. New and larger disks reach existing VMs in place, without a
	// restart, except on an IDE controller. A disk that is removed here stays on existing VMs, with its data, until they are replaced for another reason. If
	// its name is added again, these VMs keep that disk, and new VMs get an empty one.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=12
	Data []DataDisk `json:"data,omitempty"`
}

// MaxDataDisks is the maximum number of data disks in spec.
const MaxDataDisks = 12

// Provisioning specifies how the space of a disk is allocated.
// +kubebuilder:validation:Enum=Thin;Thick;EagerlyZeroed
type Provisioning string

// Provisionings, by their names in the vSphere Client.
const (
	// ProvisionThin allocates space when the guest writes.
	ProvisionThin Provisioning = "Thin"
	// ProvisionThick allocates all space at once.
	ProvisionThick Provisioning = "Thick"
	// ProvisionEagerlyZeroed also overwrites it with zeros.
	ProvisionEagerlyZeroed Provisioning = "EagerlyZeroed"
)

// DataDisk specifies a disk beside the root disk.
type DataDisk struct {
	// name identifies the disk in the group. A new name means a new disk.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+(-+[a-z0-9]+)*$`
	Name string `json:"name"`
	// sizeGiB is the capacity of the disk in GiB. The guest has to grow its file system. A disk cannot shrink. vCenter does not grow disks of VMs with
	// snapshots.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=63488
	SizeGiB int32 `json:"sizeGiB"`
	// provisioning is Thin, Thick or EagerlyZeroed. Thin allocates space when the guest writes. Thick allocates all of it when the disk is created, and
	// EagerlyZeroed also overwrites it with zeros. Existing disks stay as they are. Unset means that vCenter and the datastore decide.
	// +optional
	Provisioning Provisioning `json:"provisioning,omitempty"`
}

// RootDisk specifies the first disk of each VM.
type RootDisk struct {
	// sizeGiB is the capacity of the disk in GiB, at least that of the template. A larger value reaches existing VMs in place, without a restart, except
	// for disks on an IDE controller. The guest has to grow its file system; cloud-init does it at the next boot. A disk cannot shrink. vCenter does not
	// grow disks of linked clones or of VMs with snapshots.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=63488
	SizeGiB int32 `json:"sizeGiB"`
}
