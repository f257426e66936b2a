package webhook

import (
	"cmp"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// handling is what decides, beside the revision, what becomes of VMs that are not as spec says. An edit of it may let an update go on that waited, or
// have one wait.
type handling struct {
	paused, onDelete, updatePaused, stopped bool
	resize                                  v1alpha1.ResizeMode
	policy                                  v1alpha1.DeletionPolicy
	// noRestart is true where nothing makes up for a VM that restarts, and none may be missing.
	noRestart bool
}

func handlingOf(spec v1alpha1.VmGroupSpec, u group.Foretold) handling {
	strategy := strategyOf(spec)
	h := handling{
		paused: spec.Paused, onDelete: strategy.Type == v1alpha1.UpdateOnDelete, updatePaused: strategy.Paused, stopped: stopped(strategy, u),
		resize: cmp.Or(strategy.Resize, v1alpha1.ResizeRestart), policy: cmp.Or(spec.DeletionPolicy, v1alpha1.DeletionDelete),
	}
	h.noRestart = h.policy == v1alpha1.DeletionRetain && plan.Unavailable(spec) == 0
	return h
}

// updatesOtherwise is true for an edit that changes what becomes of VMs which are not as spec says. What a group does that is paused as a whole is said by that.
func updatesOtherwise(old, now *v1alpha1.VmGroup, u group.Foretold) bool {
	return plan.Revision(old.Spec) != plan.Revision(now.Spec) || !now.Spec.Paused && handlingOf(old.Spec, u) != handlingOf(now.Spec, u)
}

func strategyOf(spec v1alpha1.VmGroupSpec) v1alpha1.UpdateStrategy {
	if spec.UpdateStrategy == nil {
		return v1alpha1.UpdateStrategy{}
	}
	return *spec.UpdateStrategy
}

// stopped is true for an update of which as many VMs failed as may.
func stopped(strategy v1alpha1.UpdateStrategy, u group.Foretold) bool {
	return u.Failed >= max(int(strategy.MaxFailures), 1)
}
