package effect

import (
	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// cloneRequest is the request to the vSphere port to clone a VM of this shape.
func cloneRequest(s *group.Snapshot, of group.Shape, action plan.Action) vsphere.CloneRequest {
	mode := v1alpha1.CloneFull
	if of.Names.Linked {
		mode = v1alpha1.CloneLinked
	}
	var userData, ignition []byte
	if ref := of.Spec.UserDataSecretRef; ref != nil && s.UserData[ref.Name] != nil {
		userData, ignition = s.UserData[ref.Name].Data, s.UserData[ref.Name].Ignition
	}
	return vsphere.CloneRequest{
		Template: of.Names.Template, Folder: vsphere.FolderRef(s.Folder.MoRef), Name: action.Name, UUID: action.UUID,
		Stamp: vsphere.Stamp{
			GroupID: s.ID, Ordinal: action.Ordinal, Incarnation: action.Incarnation,
			Revision: action.Revision, CloneMode: string(mode),
			Epoch: vsphere.Epoch(s.Epoch), Created: s.Now,
		},
		CPU: of.Spec.CPU, CoresPerSocket: of.Spec.CoresPerSocket, MemoryMiB: int64(of.Spec.Memory) * 1024, RootDiskGiB: of.Spec.Shape().RootDiskGiB(), DataDisks: plan.WantedDisks(of.Spec.Shape()),
		Placement: of.Names.Placement, Linked: of.Names.Linked, UserData: userData, Ignition: ignition,
		Note: s.Note(action.Name), Metadata: metadataOf(&of.Spec, action.Name), GuestInfoKey: group.GuestInfoKey(&of.Spec),
	}
}

// metadataOf returns the metadata that the guest of a VM gets, or nil.
func metadataOf(spec *v1alpha1.VmGroupSpec, vm string) *vsphere.Metadata {
	if spec.Guest == nil {
		return nil
	}
	m := &vsphere.Metadata{More: spec.Guest.Metadata}
	if spec.Guest.Hostname == v1alpha1.GuestHostnameName {
		m.Hostname = vm
	}
	return m
}
