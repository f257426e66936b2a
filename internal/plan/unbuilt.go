package plan

import "github.com/codeconnect/vmgroup-operator/api/v1alpha1"

// Unbuilt says in sentences which fields that somebody set in spec are accepted and have no effect yet. They hold nothing up: without
// them a group has the VMs that it asks for. A field whose effect would be missed, such as deletionPolicy Recycle, is a Blocker instead.
//
// What the schema fills in by itself is not told of, because nobody wrote it. It writes antiAffinity None, and never makes an
// updateStrategy: who has one has written it, and may wait for what it says, also where that is what the schema would have filled in.
func Unbuilt(spec v1alpha1.VmGroupSpec) []string {
	var said []string
	if spec.UpdateStrategy != nil {
		said = append(said, "spec.updateStrategy is not built yet and has no effect: an edit reaches new VMs only, and VMs that exist "+
			"stay as they are until they are replaced. Remove it, or leave it for a later version.")
	}
	if p := spec.Placement; p != nil && p.AntiAffinity == v1alpha1.AntiAffinityPreferred {
		said = append(said, "spec.placement.antiAffinity Preferred is not built yet and has no effect: VMs are placed as with None. "+
			"Set it to None, or leave it for a later version.")
	}
	return said
}
