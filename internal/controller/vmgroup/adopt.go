package vmgroup

import (
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// claimed is what this process has claimed for a group of the VMs of the group with this UID, or nil. A member that is restored may have that one again: then
// it is looked at anew.
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
