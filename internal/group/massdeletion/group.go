package massdeletion

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// mostVMs is the maximum number of VMs of one group that counts: as many as the API allows, and as many again for VMs that leave while others are added.
const mostVMs = 1000

// Group is the knowledge about a VmGroup from its object alone.
type Group struct {
	// Created is its creation time. Deleted is the time of its deletion request, or zero. Both use the clock of its API server.
	Created, Deleted time.Time
	// Existing is the number of its VMs, including leaving ones. Wanted is the number that it wants to keep.
	Existing, Wanted int
	// Updates is the number of VMs that it can have beyond that because of an update.
	Updates int
	// Spared is true for a group that never counts: it destroys nothing, or its removals are confirmed.
	Spared bool
	// Held is true while status reports that its removals are held as part of a mass deletion. Swept is true while status reports that the group is held because its CRD was
	// deleted.
	Held, Swept bool
}

// Of returns the data of a VmGroup. It does not include the confirmation of its namespace.
func Of(group *v1alpha1.VmGroup) Group {
	g := Group{
		Created: group.CreationTimestamp.Time, Existing: existing(group), Swept: Swept(group),
		Spared: group.Spec.DeletionPolicy == v1alpha1.DeletionRetain || v1alpha1.KeepingAsked(group) || Confirms(group.Annotations, string(group.UID)),
	}
	g.Spared = g.Spared || g.Swept
	for _, conditionType := range []string{v1alpha1.ConditionRemoving, v1alpha1.ConditionStalled} {
		c := meta.FindStatusCondition(group.Status.Conditions, conditionType)
		g.Held = g.Held || c != nil && c.Reason == v1alpha1.ReasonMassDeletion
	}
	if v1alpha1.ReleaseAsked(group) { // status keeps the reason of the hold, in case the annotation is removed
		g.Held, g.Swept = false, false
	}
	if group.DeletionTimestamp != nil {
		g.Deleted = group.DeletionTimestamp.Time
		return g
	}
	g.Wanted = mostVMs
	if wanted, known := plan.Wanted(group.Spec); known { // no VM leaves because of an unintended number
		g.Wanted, g.Updates = min(int(wanted), mostVMs), updates(group, wanted)
	}
	return g
}

// Swept reports whether status records that the group is deleted because its CRD was deleted, and keeps its VMs.
func Swept(group *v1alpha1.VmGroup) bool {
	is := meta.FindStatusCondition(group.Status.Conditions, v1alpha1.ConditionRemoving)
	return group.DeletionTimestamp != nil && is != nil && is.Reason == v1alpha1.ReasonCRDTerminating
}

// updates returns the number of VMs that a group can have above the wanted number because of an update. New VMs are cloned before old ones leave, and replaced VMs do not count.
// Status can be forged, so the result is at most what spec allows. A group that wants no VMs updates none.
func updates(group *v1alpha1.VmGroup, wanted int32) int {
	if r := group.Status.Rollout; r == nil || len(r.From) == 0 || wanted == 0 {
		return 0
	}
	return int(Surge(group.Spec))
}

// Surge returns the number of VMs that a group can have above spec.replicas during an update.
func Surge(spec v1alpha1.VmGroupSpec) int32 {
	wanted, known := plan.Wanted(spec)
	if !known {
		return 0
	}
	surge := intstr.FromInt32(1)
	if u := spec.UpdateStrategy; u != nil && u.MaxSurge != nil {
		surge = *u.MaxSurge
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(&surge, int(wanted), true)
	if err != nil {
		return 0
	}
	return int32(min(max(n, 0), mostVMs/2))
}

// Confirms reports whether annotations confirm the removals of the object with this UID.
func Confirms(annotations map[string]string, uid string) bool {
	return uid != "" && annotations[v1alpha1.ConfirmDeletionAnnotation] == uid
}

// existing returns the number of VMs in status. If status was never written, or was cleared, it returns the number in spec.
func existing(group *v1alpha1.VmGroup) int {
	n := 0
	for i := range group.Status.VMs {
		if group.Status.VMs[i].MoRef != "" {
			n++
		}
	}
	if wanted, known := plan.Wanted(group.Spec); known && group.Status.ObservedGeneration == 0 {
		n = max(n, int(wanted))
	}
	return min(n, mostVMs)
}

// Removes returns the number of VMs that leave because the group was deleted or wants fewer. Replaced VMs do not count.
func (g Group) Removes() int { return max(0, g.Existing-g.Wanted-g.Updates) }

// RemovesAll reports whether no VM stays.
func (g Group) RemovesAll() bool { return g.Wanted == 0 }

// Guarded reports whether the group counts at all: it is old, or was old when it was deleted.
func (g Group) Guarded(now time.Time, age time.Duration) bool {
	if !g.Deleted.IsZero() && g.Deleted.Before(now) {
		now = g.Deleted
	}
	return !g.Spared && now.Sub(g.Created) >= age
}
