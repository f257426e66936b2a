package policy

import (
	"fmt"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// stands reports whether all VMs that spec wants are there already, as spec says. Somebody has set spec back to what they are, after another shape
// had been admitted. Then nothing has to be held back, but no VM may come in that shape.
func (v Findings) stands() bool { return v.Standing > 0 && v.Standing >= replicasOf(&v.Spec) }

// stand leaves a group as it is whose spec went back to a shape that is refused by now, and that all its VMs have.
func (a *Admission) stand(v Findings, reason, words string) {
	a.NoCreate = true
	if reason != v1alpha1.ReasonNotGranted {
		a.Reason = v1alpha1.ReasonPolicyTightened
	}
	a.Message = fmt.Sprintf("%s. Spec went back to revision %s, which %s: they are kept, and none that is lost is cloned again. Revision %s was admitted last.",
		words, v.Revision, have(v.Standing), a.Admitted.Revision)
}

// mixed says of a group that is held which of its VMs are as spec says, or is empty if none is.
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
