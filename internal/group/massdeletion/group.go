package massdeletion

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// mostVMs of one group are believed: as many as the API allows, and as many again for what leaves while others come.
const mostVMs = 1000

// Group is what is known of a VmGroup by its object alone.
type Group struct {
	// Created is when it was created, Deleted when its deletion was asked for, or zero, both by the clock of its API server.
	Created, Deleted time.Time
	// Existing is how many VMs it has, also those that are leaving; Wanted how many of them it wants to keep.
	Existing, Wanted int
	// Updates is how many it may have beyond that because its VMs are updated.
	Updates int
	// Spared is true for a group that never counts: it destroys nothing, or what it removes is confirmed.
	Spared bool
	// Held is true while status says that its removals are held as part of a mass deletion, Swept while it says that the group is held because its CRD was
	// deleted.
	Held, Swept bool
}

// Of returns what counts of a VmGroup. Whether its namespace is confirmed is not part of it.
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
	if v1alpha1.ReleaseAsked(group) { // status keeps why it was held, for when the annotation is removed
		g.Held, g.Swept = false, false
	}
	if group.DeletionTimestamp != nil {
		g.Deleted = group.DeletionTimestamp.Time
		return g
	}
	g.Wanted = mostVMs
	if wanted, known := plan.Wanted(group.Spec); known { // nothing leaves because of a number that nobody meant
		g.Wanted, g.Updates = min(int(wanted), mostVMs), updates(group, wanted)
	}
	return g
}

// Swept reports whether status says that the group is deleted because its CRD was, and keeps its VMs.
func Swept(group *v1alpha1.VmGroup) bool {
	is := meta.FindStatusCondition(group.Status.Conditions, v1alpha1.ConditionRemoving)
	return group.DeletionTimestamp != nil && is != nil && is.Reason == v1alpha1.ReasonCRDTerminating
}

// updates is how many VMs a group may have above what it wants because its VMs are updated: the new ones are cloned before the old ones leave, and
// what they take the place of does not count. Status can be forged, so it is no more than spec allows. A group that wants none updates none.
func updates(group *v1alpha1.VmGroup, wanted int32) int {
	if r := group.Status.Rollout; r == nil || len(r.From) == 0 || wanted == 0 {
		return 0
	}
	return int(Surge(group.Spec))
}

// Surge is how many VMs a group may have above spec.replicas while its VMs are updated.
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

// Confirms reports whether annotations confirm what the object with this UID removes.
func Confirms(annotations map[string]string, uid string) bool {
	return uid != "" && annotations[v1alpha1.ConfirmDeletionAnnotation] == uid
}

// existing is the number of VMs that status records. One that was never written, or was wiped, says nothing: then it is what spec asks for.
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

// Removes is how many VMs leave because the group was deleted or wants fewer. What is replaced does not leave.
func (g Group) Removes() int { return max(0, g.Existing-g.Wanted-g.Updates) }

// RemovesAll reports whether none is to stay.
func (g Group) RemovesAll() bool { return g.Wanted == 0 }

// Guarded reports whether the group counts at all: it is old, or was when it was deleted.
func (g Group) Guarded(now time.Time, age time.Duration) bool {
	if !g.Deleted.IsZero() && g.Deleted.Before(now) {
		now = g.Deleted
	}
	return !g.Spared && now.Sub(g.Created) >= age
}
