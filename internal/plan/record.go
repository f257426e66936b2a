package plan

import (
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Rollout is what status records of the update of VMs to a revision.
type Rollout struct {
	// Revision that VMs are brought to.
	Revision string
	// From are the revisions whose VMs are updated, sorted. Without any, none is: the update has ended, or none was started.
	From []string
	// Start of the update; zero when there is none.
	Start time.Time
	// Failed are the instance UUIDs of VMs of Revision that did not become ready in time, sorted.
	Failed []string
	// Surge are the instance UUIDs of the VMs that updates have added to those that are wanted, sorted. SurgeKnown is false where an older version
	// wrote the record, which did not tell.
	Surge      []string
	SurgeKnown bool
	// Tried is true once a VM that was stopped for the update got its change, and none was refused as busy since.
	Tried bool
	// RefusedAt is when vCenter last refused as busy the change of a VM that leaves the group, or has left it; zero after busyPause.
	RefusedAt time.Time
}

// Stopped reports whether so many VMs failed that nothing more is updated.
func (r Rollout) Stopped(spec *v1alpha1.UpdateStrategy) bool {
	return len(r.From) > 0 && len(r.Failed) >= strategyOf(spec, 0).maxFailures
}

// Bounds of what status records: see v1alpha1.Rollout.
const (
	maxFrom   = 16
	maxFailed = 500
)

// Begin returns what status is to record of an update, given what it records, and the revisions that VMs have. It must also be recorded by who
// finds that nothing can be planned, before status says that the edit was observed: the edit is seen once only.
//
// An update begins with an edit that asks for another revision than the recorded one. It concerns the VMs that are there then, and what the updates
// before it had not ended with. What else differs
// was edited by nobody: status was lost or restored, or an older version wrote it.
func Begin(r *Rollout, edited bool, target string, revisions []string, now time.Time) Rollout {
	next := Rollout{Revision: target, Start: now}
	ended := Rollout{Revision: target}
	if r != nil {
		// Those of the update before are still too many.
		next.Surge, next.SurgeKnown = sorted(r.Surge), r.SurgeKnown || len(r.From) == 0
		next.RefusedAt = r.RefusedAt // what locked that VM does not depend on the target
		ended.Surge, ended.SurgeKnown = next.Surge, len(next.Surge) > 0
	}
	switch {
	case r != nil && r.Revision == target:
		next.From, next.Start, next.Failed, next.Tried = slices.Clone(r.From), r.Start, sorted(r.Failed), r.Tried
		if r.Start.After(now) {
			next.Start = now // it was recorded by a clock that ran ahead
		}
	case r != nil && edited && len(revisions) > 0:
		// What is under way for the updates before may show later.
		next.From = slices.Concat(sorted(revisions), []string{r.Revision}, sorted(r.From))
	}
	seen := map[string]bool{target: true, "": true}
	next.From = slices.DeleteFunc(next.From, func(revision string) bool {
		again := seen[revision]
		seen[revision] = true
		return again
	})
	if len(next.From) == 0 {
		return ended
	}
	next.From = sorted(next.From[:min(len(next.From), maxFrom)])
	return next
}

// sorted returns another list, in order and without duplicates.
func sorted(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return slices.Compact(out)
}

// SurgeRoom is how many VMs above spec.replicas quotas grant to an update. The zero value grants none: where quotas refused, or were not asked, nothing is
// granted.
type SurgeRoom struct {
	// VMs above spec.replicas that can exist, those included that do.
	VMs int32
	// Blocker explains why these are fewer than the update could have. It is reported when the update waits for them.
	Blocker Blocker
}

// Shape is what VMs of a revision are made of, and whether more of them may be cloned.
type Shape struct {
	// Recorded is what status says of it.
	Recorded v1alpha1.Revision
	// Blocked says why nothing of it may be cloned now (missing template, missing grant, policy, ...), or is nil.
	Blocked *Blocker
}

// Update says how far the VMs are as spec says, for condition UpToDate.
type Update struct {
	// Reason is one of the API. UpToDate means that all VMs have the revision of spec, and that no update is under way.
	Reason string
	// Message is a sentence.
	Message string
}
