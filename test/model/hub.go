package model

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
)

// hub contains the admitted record, receipts, and the approvals of hub administrators.
type hub struct {
	record *v1alpha1.Admitted
	// away means that nothing can be read or stored.
	away bool
	// before are former records, oldest first.
	before []*v1alpha1.Admitted
	// receipt was written when the group was deleted and kept its VMs. adoptable are the references of VMs that another group released.
	receipt   *group.Receipt
	adoptable []string
	// forgetUntil, massUntil and adoptUntil are the ends of the administrators' approvals.
	forgetUntil, massUntil, adoptUntil time.Time
	// memberPaused is the MemberCluster's pause. trips means that other groups of the member remove VMs, so that removals are held.
	memberPaused, trips bool
	// crdGoing means that the CRD of the groups is being deleted.
	crdGoing bool
}

// definition returns the API server's answer about the CRD of the groups.
func (w *world) definition() *group.DefinitionAnswer {
	crd := &metav1.ObjectMeta{Name: "vmgroups", UID: "crd", CreationTimestamp: metav1.NewTime(epoch.Add(-24 * time.Hour))}
	if w.hub.crdGoing {
		crd.DeletionTimestamp = &metav1.Time{Time: w.now}
	}
	return &group.DefinitionAnswer{Definition: crd}
}

// put stores a record.
func (h *hub) put(record *v1alpha1.Admitted) {
	if h.record != nil {
		h.before = append(h.before, h.record)
		if len(h.before) > 4 {
			h.before = h.before[1:]
		}
	}
	h.record = record.DeepCopy()
}
