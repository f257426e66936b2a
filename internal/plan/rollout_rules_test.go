package plan

import (
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// checkRollout checks the rules of every step of an update. It is independent of the planner's
// decisions: it compares the previous state with the plan.
func checkRollout(fail func(string, ...any), in Input, p Plan) {
	checkStart(fail, in, p)
	checkUpdateTouches(fail, in, p)
	checkBudget(fail, in, p)
	checkReconnected(fail, in, p)
	checkClones(fail, in, p)
}

// checkStart: only an edit begins an update, and its record stays until it has ended.
func checkStart(fail func(string, ...any), in Input, p Plan) {
	r := p.Rollout
	if r.Revision != in.UpdateRevision {
		fail("the update is to %q, and spec is %q", r.Revision, in.UpdateRevision)
	}
	if slices.Contains(r.From, r.Revision) || !slices.IsSorted(r.From) || !slices.IsSorted(r.Failed) {
		fail("an update from its own revision, or not sorted: %+v", r)
	}
	switch was := in.Rollout; {
	case len(r.From) == 0:
		if len(r.Failed) > 0 || !r.Start.IsZero() {
			fail("something is left of an update that has ended: %+v", r)
		}
	case was == nil || was.Revision != r.Revision && !in.Edited:
		fail("an update without an edit: %+v", r)
	case was.Revision == r.Revision:
		for _, uuid := range was.Failed {
			if !slices.Contains(r.Failed, uuid) && !clonedAgain(in, p, uuid) {
				fail("the failure of %s is forgotten", uuid)
			}
		}
		for _, revision := range r.From {
			if !slices.Contains(was.From, revision) {
				fail("revision %s joins an update that is under way", revision)
			}
		}
	case len(r.Failed) > 0 && !slices.ContainsFunc(p.VMs, func(s VMStatus) bool { return s.Revision == r.Revision }):
		fail("failures of another update: %+v", r)
	}
}

// clonedAgain is true for the UUID of a VM that failed and left, and with which another is cloned now. The update
// would continue without that as well.
func clonedAgain(in Input, p Plan, uuid string) bool {
	return len(in.Rollout.Failed) < strategyOf(in.Spec.UpdateStrategy, p.Desired).maxFailures &&
		slices.ContainsFunc(p.VMs, func(s VMStatus) bool { return s.MoRef == "" && strings.EqualFold(s.UUID, uuid) })
}

// begun are the revisions that an update concerns: those of the plan or, if the update ends with it, those recorded.
func begun(in Input, p Plan) []string {
	if len(p.Rollout.From) == 0 && in.Rollout != nil && in.Rollout.Revision == in.UpdateRevision {
		return slices.DeleteFunc(slices.Clone(in.Rollout.From), func(revision string) bool { return revision == in.UpdateRevision })
	}
	return p.Rollout.From
}

func stopsUpdates(in Input, p Plan) bool {
	u := strategyOf(in.Spec.UpdateStrategy, p.Desired)
	return in.UpdateBlocked != nil || in.Deleting || u.paused || u.onDelete || len(p.Rollout.Failed) >= u.maxFailures || in.Paused != nil || !in.Observation.Complete
}

// checkUpdateTouches: only VMs of the revisions that the update concerns are changed, and none
// while the update is stopped.
func checkUpdateTouches(fail func(string, ...any), in Input, p Plan) {
	from := begun(in, p)
	if n := chosenStrangers(in, p, from); n > 0 && !in.Deleting && !recordedTwice(in) && n > surplusOf(in, p) {
		fail("%d VMs that the update does not concern are chosen to leave, and %d are too many", n, surplusOf(in, p))
	}
	vms := vmsByOrdinal(p)
	for _, a := range p.Actions {
		switch {
		case a.Identify:
			checkIdentified(fail, p, a)
		case a.Kind == ReconfigureVM:
			checkReconfigured(fail, in, p, a, vms[a.Ordinal].Revision)
		}
	}
	for _, s := range p.VMs {
		if stoppedNow(in, s) && !recordedTwice(in) {
			checkStopped(fail, in, p, s, from)
		}
	}
}

// checkStopped checks a VM that is stopped to be changed.
func checkStopped(fail func(string, ...any), in Input, p Plan, s VMStatus, from []string) {
	if !slices.Contains(from, s.Revision) || stopsUpdates(in, p) || resizes(in) != v1alpha1.ResizeRestart {
		fail("%s is restarted, and the update does not ask for it", s.Name)
	}
	if wasDenied(in, s.Ordinal) || slices.Contains(in.Observation.Lacks, vsphere.PrivilegeExtraConfig) && !wasOffOnly(in, s.Ordinal) {
		fail("%s is stopped for a change that vCenter denies", s.Name)
	}
	if slices.ContainsFunc(p.VMs, func(o VMStatus) bool { return wasBusyIn(p, in, o.Ordinal) && slices.Contains(from, o.Revision) }) {
		fail("%s is stopped to be changed, and vCenter refused that to another a short while ago", s.Name)
	}
	if refused := p.Rollout.RefusedAt; !refused.IsZero() && in.Now.Before(refused.Add(busyPause)) {
		fail("%s is stopped to be changed, and vCenter refused that to one that has left, at %s", s.Name, refused)
	}
}

// checkIdentified checks that only the list of a VM's data disks is written.
func checkIdentified(fail func(string, ...any), p Plan, a Action) {
	if a.CPU != 0 || a.MemoryMiB != 0 || a.CoresPerSocket != 0 || a.RootDiskGiB != 0 || len(a.DataDisks) > 0 || a.Network != nil || a.Revision != "" || slices.Contains(p.Doomed, a.Ordinal) {
		fail("more of %s is changed than the list of its data disks: %+v", a.Name, a)
	}
}

func checkReconfigured(fail func(string, ...any), in Input, p Plan, a Action, revision string) {
	if from := begun(in, p); !slices.Contains(from, revision) || a.Revision != in.UpdateRevision || stopsUpdates(in, p) || slices.Contains(p.Doomed, a.Ordinal) {
		fail("%s, of revision %s, is changed to %s, from %v", a.Name, revision, a.Revision, from)
	}
	vm := observedVM(in, a.MoRef)
	cpus, memory := a.CPU != 0 && (a.CPU < vm.CPU || !vm.HotAdd.CPU), a.MemoryMiB != 0 && (a.MemoryMiB < vm.MemoryMiB || !vm.HotAdd.Memory)
	probes := a.RootDiskGiB != 0 || len(a.DataDisks) > 0 // the answer shows whether the disk can grow
	if vm.Power == vsphere.PoweredOn && !probes && (cpus || memory || a.CoresPerSocket != 0) && !deniedIn(in, a.Ordinal) && !wasBusyIn(p, in, a.Ordinal) {
		fail("%s cannot be changed while it is on", a.Name)
	}
}

// wasBusyIn is true for a VM that was recently stopped in vain: its change is tried while it is on.
func wasBusyIn(p Plan, in Input, ordinal int32) bool {
	return slices.ContainsFunc(p.VMs, func(s VMStatus) bool {
		return s.Ordinal == ordinal && !s.RefusedAt.IsZero() && in.Now.Before(s.RefusedAt.Add(busyPause))
	})
}

// deniedIn is true if the account can lack a privilege for the change of a VM.
func deniedIn(in Input, ordinal int32) bool {
	return len(in.Observation.Lacks) > 0 || wasDenied(in, ordinal)
}

func wasOffOnly(in Input, ordinal int32) bool {
	f := newOperations(&in, settingsOf(&in)).reconfigureFailure(ordinal, in.UpdateRevision)
	return f != nil && vsphere.KindOf(f.Err) == vsphere.KindOffOnly
}

// wasDenied is true if vCenter has last reported that the account cannot change a VM to match spec.
func wasDenied(in Input, ordinal int32) bool {
	f := newOperations(&in, settingsOf(&in)).reconfigureFailure(ordinal, in.UpdateRevision)
	return f != nil && vsphere.KindOf(f.Err) == vsphere.KindPermission
}

// chosenNow is true for a VM that is chosen to leave in this pass.
func chosenNow(in Input, p Plan, s VMStatus) bool {
	vm := observedVM(in, s.MoRef)
	return slices.Contains(p.Doomed, s.Ordinal) && !slices.Contains(in.Doomed, s.Ordinal) && vm.Ref.Value != "" && !vm.Tombstone && !leavesInFlight(in, s.Ordinal)
}

// stoppedNow is true for a VM that is chosen to be restarted in this pass.
func stoppedNow(in Input, s VMStatus) bool { return s.Updating && !knownByRef(in)[s.MoRef].Updating }

// chosenStrangers is the number of VMs outside the update that are chosen to leave now.
func chosenStrangers(in Input, p Plan, from []string) int32 {
	n := int32(0)
	for _, s := range p.VMs {
		if chosenNow(in, p, s) && !slices.Contains(from, s.Revision) {
			n++
		}
	}
	return n
}

// surplusOf is the number of surplus VMs, existing and in flight.
func surplusOf(in Input, p Plan) int32 {
	n := -p.Desired - leaveBefore(in, p)
	for _, s := range p.VMs {
		coming := cloningInFlight(in, s.Ordinal) && (!slices.Contains(in.Doomed, s.Ordinal) || !slices.Contains(p.Doomed, s.Ordinal))
		if isThere(in, s) || coming {
			n++
		}
	}
	return n
}

func resizes(in Input) v1alpha1.ResizeMode {
	return strategyOf(in.Spec.UpdateStrategy, 0).resize
}

// recordedTwice is true for an invalid status: which record of a VM counts is undefined.
func recordedTwice(in Input) bool {
	ordinals, moRefs := map[int32]bool{}, map[string]bool{}
	for _, k := range in.Known {
		if ordinals[k.Ordinal] || k.MoRef != "" && moRefs[k.MoRef] {
			return true
		}
		ordinals[k.Ordinal], moRefs[k.MoRef] = true, true
	}
	return false
}

func knownByRef(in Input) map[string]Known {
	known := map[string]Known{}
	for _, k := range in.Known {
		if _, ok := known[k.MoRef]; !ok {
			known[k.MoRef] = k
		}
	}
	return known
}

func observedVM(in Input, moRef string) vsphere.VM {
	at := slices.IndexFunc(in.Observation.VMs, func(vm vsphere.VM) bool { return vm.Ref.Value == moRef })
	if at < 0 {
		return vsphere.VM{}
	}
	return in.Observation.VMs[at]
}

// checkClones: an update never adds more surplus VMs than allowed, and every clone has an allowed revision.
func checkClones(fail func(string, ...any), in Input, p Plan) {
	if p.Creates() == 0 {
		return
	}
	u := strategyOf(in.Spec.UpdateStrategy, p.Desired)
	if len(begun(in, p)) > 0 {
		n := int32(p.Creates())
		for _, s := range p.VMs {
			if isThere(in, s) || cloningInFlight(in, s.Ordinal) {
				n++
			}
		}
		if more := min(u.surge, max(in.Surge.VMs, 0)); n > p.Desired+more {
			fail("there would be %d VMs with those that leave, and %d are wanted and %d more allowed", n, p.Desired, more)
		}
	}
	if n := staying(in, p); in.Spec.DeletionPolicy == v1alpha1.DeletionRetain && n > p.Desired {
		fail("there would be %d VMs, and %d are wanted: none may be destroyed when it is too many", n, p.Desired)
	}
	if p.Surge > max(in.Surge.VMs, p.Existing-p.Desired, 0) {
		fail("the quota lets %d more VMs in, and the update wants %d", in.Surge.VMs, p.Surge)
	}
	for _, a := range p.Actions {
		if a.Kind != CreateVM {
			continue
		}
		at := slices.IndexFunc(in.Shapes, func(s Shape) bool { return s.Recorded.Revision == a.Revision })
		switch {
		case a.Revision == in.Revision && in.CreateBlocked == nil:
		case a.Revision == in.Revision || at < 0 || in.Shapes[at].Blocked != nil:
			fail("%s is cloned in revision %q, which cannot be", a.Name, a.Revision)
		}
		checkReturn(fail, in, p, a, at >= 0)
		checkTakenBack(fail, in, a)
	}
}

// staying is the future number of VMs without those that leave.
func staying(in Input, p Plan) int32 {
	n := int32(p.Creates())
	for _, s := range p.VMs {
		if (isThere(in, s) || cloningInFlight(in, s.Ordinal)) && !slices.Contains(p.Doomed, s.Ordinal) {
			n++
		}
	}
	return n
}

// checkTakenBack: while a group is held at a withdrawn spec, no VM of that spec replaces a lost one that matched spec.
func checkTakenBack(fail func(string, ...any), in Input, a Action) {
	at := slices.IndexFunc(in.Known, func(k Known) bool { return k.Ordinal == a.Ordinal })
	if at < 0 || recordedTwice(in) || slices.Contains(in.Doomed, a.Ordinal) || in.UpdateBlocked == nil || in.Revision == in.UpdateRevision {
		return
	}
	if k := in.Known[at]; k.Revision == in.UpdateRevision && slices.Contains(in.Observation.Gone, vsphere.VMRef(k.MoRef)) {
		fail("%s was as spec says, which is refused, and comes back in revision %s", a.Name, a.Revision)
	}
}

// checkReturn: a VM that was lost during an update is recreated in its revision.
func checkReturn(fail func(string, ...any), in Input, p Plan, a Action, older bool) {
	at := slices.IndexFunc(in.Known, func(k Known) bool { return k.Ordinal == a.Ordinal })
	u := strategyOf(in.Spec.UpdateStrategy, p.Desired)
	if at < 0 || recordedTwice(in) || slices.Contains(in.Doomed, a.Ordinal) || len(begun(in, p)) == 0 || u.onDelete || len(p.Rollout.Failed) >= u.maxFailures {
		return
	}
	k := in.Known[at]
	returns := k.MoRef != "" && slices.Contains(in.Observation.Gone, vsphere.VMRef(k.MoRef))
	shape := slices.IndexFunc(in.Shapes, func(s Shape) bool { return s.Recorded.Revision == k.Revision && s.Blocked == nil })
	if returns && shape >= 0 && k.Revision != a.Revision {
		fail("%s had revision %s and returns in %s", a.Name, k.Revision, a.Revision)
	}
	if returns && k.Revision != a.Revision && !older && a.Revision != in.Revision {
		fail("%s returns in revision %s, which is unknown", a.Name, a.Revision)
	}
}

// replaces is true for a VM that leaves because another replaces it: see RemovalHold.
func replaces(in Input, p Plan, ordinal int32) bool {
	u := strategyOf(in.Spec.UpdateStrategy, p.Desired)
	there := int32(0)
	for _, s := range p.VMs {
		if isThere(in, s) || cloningInFlight(in, s.Ordinal) {
			there++
		}
	}
	return !stopsUpdates(in, p) && slices.Contains(begun(in, p), vmsByOrdinal(p)[ordinal].Revision) && there <= p.Desired+u.surge
}
