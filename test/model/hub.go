package model

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
)

// hub keeps the record of what was admitted, receipts, and what its administrators allow.
type hub struct {
	record *v1alpha1.Admitted
	// away: nothing can be read or stored.
	away bool
	// before are former records, the oldest first.
	before []*v1alpha1.Admitted
	// receipt is what was written when the group went and kept its VMs. adoptable are the references of VMs that another group left.
	receipt   *group.Receipt
	adoptable []string
	// forgetUntil, massUntil and adoptUntil are what administrators allow.
	forgetUntil, massUntil, adoptUntil time.Time
	// memberPaused is that of the MemberCluster. trips: other groups of the member remove VMs, so that removals are held.
	memberPaused, trips bool
	// crdGoing: the CRD of the groups is being deleted.
	crdGoing bool
}

// definition is what the API server says of the CRD of the groups.
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
