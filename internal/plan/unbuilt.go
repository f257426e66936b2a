package plan

import "github.com/codeconnect/vmgroup-operator/api/v1alpha1"

// Unbuilt says in sentences which fields that somebody set in spec are accepted and have no effect yet. They hold nothing up: without
// them a group has the VMs that it asks for. A field whose effect would be missed, such as deletionPolicy Recycle, is a Blocker instead.
//
// What the schema fills in by itself, as antiAffinity None, is not told of, because nobody wrote it.
func Unbuilt(spec v1alpha1.VmGroupSpec) []string {
	var said []string
	if p := spec.Placement; p != nil && p.AntiAffinity == v1alpha1.AntiAffinityPreferred {
		said = append(said, "spec.placement.antiAffinity Preferred is not built yet and has no effect: VMs are placed as with None. "+
			"Set it to None, or leave it for a later version.")
	}
	return said
}
