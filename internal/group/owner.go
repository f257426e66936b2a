package group

import "github.com/codeconnect/vmgroup-operator/api/v1alpha1"

// written returns d, or the step that must come before the first change in vCenter.
func (s *Snapshot) written(d Decision) Decision {
	if s.Written {
		return d
	}
	return s.recordOwner()
}

// recordOwner writes only the owner into status. An API server can return made-up objects, even one whose status needs no write. Only an accepted write shows that the object has
// this namespace and name.
func (s *Snapshot) recordOwner() Decision {
	status := s.Group.Status.DeepCopy()
	if s.Epoch != (v1alpha1.Epoch{}) {
		status.Ownership = &v1alpha1.Ownership{Epoch: s.Epoch}
	}
	return Decision{Step: RecordOwner, Status: status}
}
