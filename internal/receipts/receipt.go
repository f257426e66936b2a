package receipts

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Key names the group that let its VMs go, by the UID of its cluster and its own.
type Key = vsphere.GroupKey

// Cause is why there is a receipt.
type Cause string

// The causes.
const (
	// Released: the group was deleted, and its VMs were kept.
	Released Cause = "Released"
	// Forgotten: the vCenter is gone for good, and the group was let go without it.
	Forgotten Cause = "Forgotten"
	// Adopted: another group took VMs for which there was no receipt.
	Adopted Cause = "Adopted"
)

// Receipt is what became of the VMs of one group.
type Receipt struct {
	Cause Cause `json:"cause"`
	// MemberCluster is the name that the member had on the hub, MemberUID the UID of the cluster.
	MemberCluster string `json:"memberCluster,omitempty"`
	MemberUID     string `json:"memberUID"`
	Namespace     string `json:"namespace"`
	// Group is the name of the group that let the VMs go, GroupUID is what their stamps carry.
	Group    string `json:"group"`
	GroupUID string `json:"groupUID"`
	// VCenter is the name of the VCenter, InstanceUUID is the vCenter's own, where it was known.
	VCenter      string `json:"vcenter"`
	InstanceUUID string `json:"instanceUUID,omitempty"`
	Folder       Folder `json:"folder,omitzero"`
	// By is the field manager that set the annotation, where the API server said so.
	By   string    `json:"by,omitempty"`
	Time time.Time `json:"time"`
	VMs  []VM      `json:"vms,omitempty"`
	// AdoptedBy is the group that took the VMs, or is taking them. Nil while there is none.
	AdoptedBy *Adopter `json:"adoptedBy,omitempty"`
}

// Folder is where the VMs of the group were.
type Folder struct {
	Path  string `json:"path,omitempty"`
	MoRef string `json:"moRef,omitempty"`
}

// VM is one of the VMs that were let go.
type VM struct {
	Name     string `json:"name"`
	MoRef    string `json:"moRef,omitempty"`
	UUID     string `json:"uuid,omitempty"`
	Ordinal  int32  `json:"ordinal"`
	Revision string `json:"revision,omitempty"`
}

// Adopter is a group that takes VMs of another.
type Adopter struct {
	MemberUID string `json:"memberUID"`
	Namespace string `json:"namespace"`
	Group     string `json:"group"`
	GroupUID  string `json:"groupUID"`
}

// Key of the receipt.
func (r *Receipt) Key() Key { return vsphere.KeyOf(r.MemberUID, r.GroupUID) }

// Is reports whether both are the same group, whatever its name is called.
func (a Adopter) Is(other Adopter) bool {
	return a.MemberUID == other.MemberUID && a.GroupUID == other.GroupUID
}

// valid reports whether the receipt says whose it is and why.
func (r *Receipt) valid() bool {
	known := r.Cause == Released || r.Cause == Forgotten || r.Cause == Adopted
	claimed := r.AdoptedBy == nil || r.AdoptedBy.MemberUID != "" && r.AdoptedBy.GroupUID != ""
	return known && claimed && r.MemberUID != "" && r.GroupUID != "" && r.Namespace != "" && r.Group != "" && !r.Time.IsZero()
}
