package policy

import (
	"fmt"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// stands reports whether all wanted VMs exist already with the revision of spec. A user set spec back to the shape of the VMs after another shape was
// admitted. Then the group is not held back, but no VM is cloned in that shape.
func (v Findings) stands() bool { return v.Standing > 0 && v.Standing >= replicasOf(&v.Spec) }

// stand keeps a group unchanged whose spec went back to a shape that is now refused and that all its VMs have.
func (a *Admission) stand(v Findings, reason, words string) {
	a.NoCreate = true
	if reason != v1alpha1.ReasonNotGranted {
		a.Reason = v1alpha1.ReasonPolicyTightened
	}
	a.Message = fmt.Sprintf("%s. Spec went back to revision %s, which %s: they are kept, and none that is lost is cloned again. Revision %s was admitted last.",
		words, v.Revision, have(v.Standing), a.Admitted.Revision)
}

// mixed describes which VMs of a held group have the revision of spec, or returns "" if none has.
func (v Findings) mixed() string {
	if v.Standing == 0 || v.Admitted.Revision == v.Revision {
		return ""
	}
	return fmt.Sprintf(" Spec went back to revision %s, which %s still: they stay, and none of them that is lost is cloned again. Revision %s was admitted last.",
		v.Revision, have(v.Standing), v.Admitted.Revision)
}

func have(vms int32) string {
	if vms == 1 {
		return "1 VM has"
	}
	return fmt.Sprintf("%d VMs have", vms)
}
