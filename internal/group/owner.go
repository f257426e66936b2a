package group

import "github.com/codeconnect/vmgroup-operator/api/v1alpha1"

// written returns d, or the step that comes before the first change in vCenter.
func (s *Snapshot) written(d Decision) Decision {
	if s.Written {
		return d
	}
	return s.recordOwner()
}

// recordOwner writes the owner into status, and changes nothing else. What an API server shows can be made up, up to a status in which nothing is left to
// write. Only a write that it takes shows that the object has this namespace and name.
func (s *Snapshot) recordOwner() Decision {
	status := s.Group.Status.DeepCopy()
	if s.Epoch != (v1alpha1.Epoch{}) {
		status.Ownership = &v1alpha1.Ownership{Epoch: s.Epoch}
	}
	return Decision{Step: RecordOwner, Status: status}
}
