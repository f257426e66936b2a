package receipts

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Key identifies the group that released its VMs, by the UID of its cluster and its own UID.
type Key = vsphere.GroupKey

// Cause is the reason for a receipt.
type Cause string

// The causes.
const (
	// Released: the group was deleted, and its VMs were kept.
	Released Cause = "Released"
	// Forgotten: the vCenter was permanently lost, and the group was deleted without access to it.
	Forgotten Cause = "Forgotten"
	// Adopted: another group adopted VMs without a receipt.
	Adopted Cause = "Adopted"
)

// Receipt records what happened to the VMs of one group.
type Receipt struct {
	Cause Cause `json:"cause"`
	// MemberCluster is the name of the member on the hub at that time. MemberUID is the UID of the cluster.
	MemberCluster string `json:"memberCluster,omitempty"`
	MemberUID     string `json:"memberUID"`
	Namespace     string `json:"namespace"`
	// Group is the name of the group that released the VMs. GroupUID is the UID in their stamps.
	Group    string `json:"group"`
	GroupUID string `json:"groupUID"`
	// VCenter is the name of the VCenter. InstanceUUID is the vCenter's own UUID, if it was known.
	VCenter      string `json:"vcenter"`
	InstanceUUID string `json:"instanceUUID,omitempty"`
	Folder       Folder `json:"folder,omitzero"`
	// By is the field manager that set the annotation, if the API server reported it.
	By   string    `json:"by,omitempty"`
	Time time.Time `json:"time"`
	VMs  []VM      `json:"vms,omitempty"`
	// AdoptedBy is the group that has adopted the VMs, or is adopting them. It is nil if there is none.
	AdoptedBy *Adopter `json:"adoptedBy,omitempty"`
}

// Folder is the folder of the group's VMs.
type Folder struct {
	Path  string `json:"path,omitempty"`
	MoRef string `json:"moRef,omitempty"`
}

// VM is one of the released VMs.
type VM struct {
	Name     string `json:"name"`
	MoRef    string `json:"moRef,omitempty"`
	UUID     string `json:"uuid,omitempty"`
	Ordinal  int32  `json:"ordinal"`
	Revision string `json:"revision,omitempty"`
}

// Adopter is a group that adopts VMs of another group.
type Adopter struct {
	MemberUID string `json:"memberUID"`
	Namespace string `json:"namespace"`
	Group     string `json:"group"`
	GroupUID  string `json:"groupUID"`
}

// Key returns the key of the receipt.
func (r *Receipt) Key() Key { return vsphere.KeyOf(r.MemberUID, r.GroupUID) }

// Is reports whether both are the same group, independent of the name.
func (a Adopter) Is(other Adopter) bool {
	return a.MemberUID == other.MemberUID && a.GroupUID == other.GroupUID
}

// valid reports whether the receipt has its required fields.
func (r *Receipt) valid() bool {
	known := r.Cause == Released || r.Cause == Forgotten || r.Cause == Adopted
	claimed := r.AdoptedBy == nil || r.AdoptedBy.MemberUID != "" && r.AdoptedBy.GroupUID != ""
	return known && claimed && r.MemberUID != "" && r.GroupUID != "" && r.Namespace != "" && r.Group != "" && !r.Time.IsZero()
}
