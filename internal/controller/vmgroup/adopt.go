package vmgroup

import (
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// claimed returns this process's claim for a group on the VMs of the group with this UID, or nil. A restored member can have
// that group again: then it is checked anew.
func (r *Reconciler) claimed(by object, from string) *group.AdoptionAnswer {
	c := r.memory.of(by).adoption
	if c == nil || c.From != from || !c.Until.IsZero() && !r.Now().Before(c.Until) {
		return nil
	}
	if _, exists := r.Fleet.Group(vsphere.KeyOf(by.key.Member(), from)); exists {
		return nil
	}
	return new(c.Answer)
}
