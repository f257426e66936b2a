package plan

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// taken is what an update removes in a pass, and what is left.
type taken struct {
	// vms are the removed VMs; there the earlier ones; left the remaining ones, without new unavailable ones.
	vms, there, left int32
	// available is true if one of them was certainly available, listed if a user asked for its removal first.
	available, listed bool
}

func takenBy(in Input, p Plan) taken {
	var t taken
	from := begun(in, p)
	for _, s := range p.VMs {
		if !isThere(in, s) {
			continue
		}
		t.there++
		if unproven := !s.Available && (s.Revision == p.Rollout.Revision || s.Updating && !awaitsItsStop(s)); !unproven && !slices.Contains(p.Doomed, s.Ordinal) {
			t.left++
		}
		if (chosenNow(in, p, s) || stoppedNow(in, s) || goesDownNow(in, p, s)) && slices.Contains(from, s.Revision) && !needless(in, p, s) && !didNotReturn(in, s) {
			t.vms++
			t.available = t.available || wasAvailable(in, s)
			t.listed = t.listed || in.Spec.ScaleDown != nil && slices.Contains(in.Spec.ScaleDown.DeleteFirst, s.Name)
		}
	}
	return t
}

// awaitsItsStop is true for a VM that is as ready as when it was chosen for a restart.
func awaitsItsStop(s VMStatus) bool {
	return s.Updating && s.Phase == v1alpha1.VMReady && s.ReadySince.Before(s.StoppedAt)
}

// goesDownNow is true for an available VM that was already chosen for a restart: no action was taken on it until now.
func goesDownNow(in Input, p Plan, s VMStatus) bool {
	vm, k := observedVM(in, s.MoRef), knownByRef(in)[s.MoRef]
	return k.Updating && wasAvailable(in, s) && vm.Power == vsphere.PoweredOn && !slices.Contains(p.Doomed, s.Ordinal) &&
		slices.ContainsFunc(p.Actions, func(a Action) bool { return a.MoRef == s.MoRef && (a.Kind == PowerOffVM || a.Kind == ShutdownGuest) })
}

// needless is true for a VM that was never ready, in addition to the wanted number of VMs of spec's revision, of which
// one is available.
func needless(in Input, p Plan, s VMStatus) bool {
	n, available := int32(0), false
	for _, other := range p.VMs {
		if other.Revision == p.Rollout.Revision && !slices.Contains(p.Doomed, other.Ordinal) && (isThere(in, other) || cloningInFlight(in, other.Ordinal)) {
			n, available = n+1, available || other.Available
		}
	}
	return knownByRef(in)[s.MoRef].ReadySince.IsZero() && n >= p.Desired && available
}

// didNotReturn is true for a VM that was restarted for an update and was not ready in time: it was already unavailable.
func didNotReturn(in Input, s VMStatus) bool {
	k := knownByRef(in)[s.MoRef]
	spec := settingsOf(&in)
	return k.Updating && !wasAvailable(in, s) && !k.StartTime.IsZero() && !in.Now.Before(k.StartTime.Add(spec.startup))
}

// checkBudget: an update takes down no available VM while more are missing than allowed, for any reason. It never takes
// down so many VMs that too few are left, not counting new unavailable ones. An unneeded VM that was never ready does
// not count.
func checkBudget(fail func(string, ...any), in Input, p Plan) {
	if in.Deleting || in.MayStay > 0 || recordedTwice(in) {
		return
	}
	t, missing := takenBy(in, p), strategyOf(in.Spec.UpdateStrategy, p.Desired).unavailable
	if t.vms == 0 || t.listed || surplusOf(in, p) > p.Surge {
		return // no VM was taken, or some leave in a scale-down
	}
	if t.left < p.Desired-missing {
		fail("%d of %d VMs are taken away, and %d old or available ones are left: %d may be missing", t.vms, t.there, t.left, missing)
	}
	if t.available && p.Ready < p.Desired-missing {
		fail("a VM that is available is taken away, and %d of %d are left: %d may be missing", p.Ready, p.Desired, missing)
	}
}

// checkReconnected: guests that a new network can cut off count as unavailable, in addition to others. If none can be
// missing, one can.
func checkReconnected(fail func(string, ...any), in Input, p Plan) {
	vms, n, changed := vmsByOrdinal(p), int32(0), false
	for _, a := range p.Actions {
		if s := vms[a.Ordinal]; a.Kind == ReconfigureVM && a.Network != nil && s.Available && observedVM(in, a.MoRef).Power == vsphere.PoweredOn {
			n, changed = n+1, true
		}
	}
	for _, op := range in.Observation.InFlight {
		s := vms[op.Ordinal]
		if op.Kind == vsphere.OpReconfigure && s.Available && observedVM(in, s.MoRef).Power == vsphere.PoweredOn && inAnotherNetwork(in, s.Revision) {
			n++
		}
	}
	least := p.Desired - max(strategyOf(in.Spec.UpdateStrategy, p.Desired).unavailable, 1)
	if changed && p.Ready-n < least && in.MayStay == 0 && !recordedTwice(in) {
		fail("%d of %d VMs that are available are cut off for a while", n, p.Ready)
	}
}

func inAnotherNetwork(in Input, revision string) bool {
	at := slices.IndexFunc(in.Shapes, func(s Shape) bool { return s.Recorded.Revision == revision })
	return at >= 0 && networkOf(in.Shapes[at].Recorded) != networkOf(ShapeOf(in.Spec))
}

// leaveBefore is the number of VMs of the table that were already chosen to leave before this pass.
func leaveBefore(in Input, p Plan) int32 {
	n := int32(0)
	for _, s := range p.VMs {
		if isThere(in, s) && slices.Contains(p.Doomed, s.Ordinal) && !chosenNow(in, p, s) {
			n++
		}
	}
	return n
}

// isThere is true for a VM that exists as far as is known.
func isThere(in Input, s VMStatus) bool {
	ref := vsphere.VMRef(s.MoRef)
	seen := observedVM(in, s.MoRef).Ref == ref || slices.Contains(in.Observation.Elsewhere, ref)
	return s.MoRef != "" && (seen || !slices.Contains(in.Observation.Gone, ref))
}

func cloningInFlight(in Input, ordinal int32) bool {
	return slices.ContainsFunc(in.Observation.InFlight, func(op vsphere.Operation) bool { return op.Kind == vsphere.OpClone && op.Ordinal == ordinal })
}

func leavesInFlight(in Input, ordinal int32) bool {
	return newOperations(&in, settingsOf(&in)).leaving(ordinal)
}

// wasAvailable reports whether a VM was certainly available: it is on, or off as requested, passes its gate, and has
// been ready for long enough.
func wasAvailable(in Input, s VMStatus) bool {
	vm, k := observedVM(in, s.MoRef), knownByRef(in)[s.MoRef]
	switch {
	case !vm.Connected() || vm.IsTemplate, k.Updating && !k.ShutdownTime.IsZero(): // its guest was asked to shut down
		return false
	case vm.Stamp != nil && k.Revision != vm.Stamp.Revision && in.Spec.Readiness != nil && in.Spec.Readiness.MinReadySeconds > 0:
		return false // it can have another network since, and must prove itself there
	case in.Spec.PowerState == v1alpha1.PoweredOff:
		return vm.Power == vsphere.PoweredOff
	case vm.Power != vsphere.PoweredOn:
		return false
	case in.Spec.Readiness == nil:
		return true
	}
	r := in.Spec.Readiness
	if r.Gate == v1alpha1.GateGuestIP || r.GuestInfo != nil || r.Gate == v1alpha1.GateGuestHeartbeat && !vm.HeartbeatGreen {
		return false
	}
	up := k.Phase == v1alpha1.VMReady || k.Phase == v1alpha1.VMStarting && k.Updating // which was only chosen
	return r.MinReadySeconds == 0 || up && !k.ReadySince.IsZero() && in.Now.Sub(k.ReadySince).Seconds() >= float64(r.MinReadySeconds)
}
