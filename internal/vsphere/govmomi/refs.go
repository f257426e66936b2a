package govmomi

import (
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func fromRef(r types.ManagedObjectReference) vsphere.Ref {
	return vsphere.Ref{Type: r.Type, Value: r.Value}
}

func toRef(r vsphere.Ref) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: r.Type, Value: r.Value}
}

// refOrNil returns nil for a zero Ref, for optional parameters.
func refOrNil(r vsphere.Ref) *types.ManagedObjectReference {
	if r.IsZero() {
		return nil
	}
	ref := toRef(r)
	return &ref
}
