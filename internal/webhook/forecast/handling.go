package forecast

import (
	"cmp"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// handling has the settings, other than the revision, that decide how VMs that do not match spec are updated. An edit of it can resume a waiting update, or
// stop one.
type handling struct {
	paused, onDelete, updatePaused, stopped bool
	resize                                  v1alpha1.ResizeMode
	policy                                  v1alpha1.DeletionPolicy
	// noRestart is true if no VM can be added to replace one that restarts, and none can be missing.
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

// updatesOtherwise reports whether an edit changes how VMs that do not match spec are updated. For a group that is paused as a whole, another message covers
// that.
func updatesOtherwise(old, now *v1alpha1.VmGroup, u group.Foretold) bool {
	return plan.Revision(old.Spec) != plan.Revision(now.Spec) || !now.Spec.Paused && handlingOf(old.Spec, u) != handlingOf(now.Spec, u)
}

func strategyOf(spec v1alpha1.VmGroupSpec) v1alpha1.UpdateStrategy {
	if spec.UpdateStrategy == nil {
		return v1alpha1.UpdateStrategy{}
	}
	return *spec.UpdateStrategy
}

// stopped reports whether as many VMs of an update failed as the strategy allows.
func stopped(strategy v1alpha1.UpdateStrategy, u group.Foretold) bool {
	return u.Failed >= max(int(strategy.MaxFailures), 1)
}
