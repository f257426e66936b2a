package plan

import (
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Rollout is the record in status of the update of VMs to a revision.
type Rollout struct {
	// Revision is the target of the update.
	Revision string
	// From are the revisions whose VMs are updated, sorted. If From is empty, no VM is updated: the update has ended, or none began.
	From []string
	// Start of the update; zero when there is none.
	Start time.Time
	// Failed are the instance UUIDs of VMs of Revision that did not become ready in time, sorted.
	Failed []string
	// Surge are the instance UUIDs of the VMs that updates added above the wanted number, sorted. SurgeKnown is false if an older version wrote the record without them.
	Surge      []string
	SurgeKnown bool
	// Tried is true once a VM that was stopped for the update got its change, and vCenter refused none as busy since.
	Tried bool
	// RefusedAt is when vCenter last refused as busy the change of a VM that leaves or has left the group. It is zero after busyPause.
	RefusedAt time.Time
}

// Stopped reports whether the update stopped because of too many failed VMs.
func (r Rollout) Stopped(spec *v1alpha1.UpdateStrategy) bool {
	return len(r.From) > 0 && len(r.Failed) >= strategyOf(spec, 0).maxFailures
}

// Bounds of the record in status: see v1alpha1.Rollout.
const (
	maxFrom   = 32
	maxFailed = 500
)

// Begin returns the new record of an update, given the old record and the revisions of the VMs. A caller that cannot plan must also record it, before status reports the edit as
// observed: an edit is visible only once.
//
// An update begins with an edit that asks for another revision than the recorded one. It concerns the VMs that exist then, and the VMs that earlier updates had not finished.
// Other differences come from no edit: status was lost or restored, or an older version wrote it.
func Begin(r *Rollout, edited bool, target string, revisions []string, now time.Time) Rollout {
	next := Rollout{Revision: target, Start: now}
	ended := Rollout{Revision: target}
	if r != nil {
		// The surge VMs of the earlier update are still surplus.
		next.Surge, next.SurgeKnown = sorted(r.Surge), r.SurgeKnown || len(r.From) == 0
		next.RefusedAt = r.RefusedAt // the lock of that VM does not depend on the target
		ended.Surge, ended.SurgeKnown = next.Surge, len(next.Surge) > 0
	}
	switch {
	case r != nil && r.Revision == target:
		next.From, next.Start, next.Failed, next.Tried = slices.Clone(r.From), r.Start, sorted(r.Failed), r.Tried
		if r.Start.After(now) {
			next.Start = now // a clock that ran ahead recorded it
		}
	case r != nil && edited && len(revisions) > 0:
		// Operations of earlier updates can show their effect later.
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

// sorted returns a sorted copy without duplicates.
func sorted(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return slices.Compact(out)
}

// SurgeRoom is the number of VMs above spec.replicas that quotas grant to an update. The zero value grants none. It also stands for quotas that refused or were not asked.
type SurgeRoom struct {
	// VMs above spec.replicas that can exist, including those that exist.
	VMs int32
	// Blocker explains why VMs is less than the update could use. It is reported if the update waits for them.
	Blocker Blocker
}

// Shape is the shape of a revision, and whether more VMs of it can be cloned.
type Shape struct {
	// Recorded is the shape in status.
	Recorded v1alpha1.Revision
	// Adopted is true for the shape of an adopted VM that has a size of its own. It serves to change that VM in place. No VM is cloned in it, because no spec asked for it.
	Adopted bool
	// Blocked explains why no VM of this shape can be cloned now (missing template, missing grant, policy, ...), or is nil.
	Blocked *Blocker
}

// Update is how far the VMs match spec, for condition UpToDate.
type Update struct {
	// Reason is a condition reason of the API. UpToDate means that all VMs have the revision of spec, and that no update is in progress.
	Reason string
	// Message is a sentence.
	Message string
}
