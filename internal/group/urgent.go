package group

import (
	"cmp"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Urgent reports whether something depends on next being stored: an intent, an ordinal's identity, the time of a
// shutdown, what an update is about to do, or a verdict that people and tools wait for. When a VM was started is no more than a second late.
func Urgent(old, next v1alpha1.VmGroupStatus) bool {
	if old.ObservedGeneration != next.ObservedGeneration || old.Phase != next.Phase ||
		!slices.Equal(old.Deleting, next.Deleting) || !equality.Semantic.DeepEqual(old.Admitted, next.Admitted) || !equality.Semantic.DeepEqual(old.Folder, next.Folder) ||
		!equality.Semantic.DeepEqual(old.Ownership, next.Ownership) || !equality.Semantic.DeepEqual(old.Rollout, next.Rollout) ||
		!equality.Semantic.DeepEqual(old.Revisions, next.Revisions) || !slices.Equal(old.DeleteFirst, next.DeleteFirst) {
		return true
	}
	for _, conditionType := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionStalled, v1alpha1.ConditionVCenterReachable, v1alpha1.ConditionPaused, v1alpha1.ConditionRemoving, v1alpha1.ConditionAdopted} {
		if conditionStatus(old, conditionType) != conditionStatus(next, conditionType) {
			return true
		}
	}
	before := map[int32]*v1alpha1.VMStatus{}
	for i := range old.VMs {
		before[old.VMs[i].Ordinal] = &old.VMs[i]
	}
	for _, vm := range next.VMs {
		if urgentOf(cmp.Or(before[vm.Ordinal], &v1alpha1.VMStatus{}), &vm) {
			return true
		}
	}
	return false
}

// urgentOf is Urgent for one VM. That the guest of a VM which is restarted has shut down is stored before the VM is started: who goes on would take the new
// guest for the old one, and wait for its end. That its change was refused is stored before as well: who goes on would stop it again.
func urgentOf(was, vm *v1alpha1.VMStatus) bool {
	return vm.MoRef == "" && was.UUID != vm.UUID || vm.Phase == v1alpha1.VMAdopting && was.MoRef != vm.MoRef ||
		vm.ShutdownTime != nil && !vm.ShutdownTime.Equal(was.ShutdownTime) || vm.Updating && !was.Updating ||
		vm.StoppedForChange != nil && !vm.StoppedForChange.Equal(was.StoppedForChange) ||
		vm.ChangeRefused != nil && !vm.ChangeRefused.Equal(was.ChangeRefused) ||
		vm.Updating && vm.ShutdownTime == nil && was.ShutdownTime != nil
}

func conditionStatus(s v1alpha1.VmGroupStatus, conditionType string) metav1.ConditionStatus {
	if c := meta.FindStatusCondition(s.Conditions, conditionType); c != nil {
		return c.Status
	}
	return ""
}

// SameButOwnership reports whether nothing but the owner has changed. A takeover alone is nothing to write about. With something to
// do it is: the write is also what finds out that the cache is behind the former owner's last one.
func SameButOwnership(old, next v1alpha1.VmGroupStatus) bool {
	next.Ownership = old.Ownership
	return sameStatus(&old, &next)
}

// sameStatus reports whether two statuses say the same. Most passes change nothing, and what they compare is equal to the bit: to find that costs half as much.
func sameStatus(a, b *v1alpha1.VmGroupStatus) bool {
	return reflect.DeepEqual(a, b) || equality.Semantic.DeepEqual(a, b)
}
