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

// Urgent reports whether next must be stored at once. Other parts depend on an intent, an ordinal's identity, the time of a shutdown, and the next steps of an update. Users and
// tools wait for results. The start time of a VM is stored late: see statusInterval and detailsInterval.
func Urgent(old, next v1alpha1.VmGroupStatus) bool {
	if old.ObservedGeneration != next.ObservedGeneration || old.Phase != next.Phase ||
		!slices.Equal(old.Deleting, next.Deleting) || !equality.Semantic.DeepEqual(old.Admitted, next.Admitted) || !equality.Semantic.DeepEqual(old.Folder, next.Folder) ||
		!equality.Semantic.DeepEqual(old.Ownership, next.Ownership) || !equality.Semantic.DeepEqual(old.Rollout, next.Rollout) ||
		!equality.Semantic.DeepEqual(old.Revisions, next.Revisions) || !equality.Semantic.DeepEqual(old.AdoptedRevisions, next.AdoptedRevisions) || !slices.Equal(old.DeleteFirst, next.DeleteFirst) {
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

// urgentOf is Urgent for one VM. Without the end of a guest's shutdown in status, another replica would take the new guest for the old one, and wait for its end. Without a
// refused change, it would stop the VM again. Without the end of readiness, minReadySeconds would not begin again for a VM that is ready at the next pass.
func urgentOf(was, vm *v1alpha1.VMStatus) bool {
	return vm.MoRef == "" && was.UUID != vm.UUID || vm.Phase == v1alpha1.VMAdopting && was.MoRef != vm.MoRef ||
		vm.ShutdownTime != nil && !vm.ShutdownTime.Equal(was.ShutdownTime) || vm.Updating && !was.Updating ||
		vm.StoppedForChange != nil && !vm.StoppedForChange.Equal(was.StoppedForChange) ||
		vm.ChangeRefused != nil && !vm.ChangeRefused.Equal(was.ChangeRefused) ||
		vm.Updating && vm.ShutdownTime == nil && was.ShutdownTime != nil ||
		was.Phase == v1alpha1.VMReady && (vm.Phase == v1alpha1.VMUnhealthy || vm.Phase == v1alpha1.VMStarting)
}

func conditionStatus(s v1alpha1.VmGroupStatus, conditionType string) metav1.ConditionStatus {
	if c := meta.FindStatusCondition(s.Conditions, conditionType); c != nil {
		return c.Status
	}
	return ""
}

// SameButOwnership reports whether only the owner has changed. A takeover alone needs no write. If there is work, a write is needed, because it also reveals that the cache is
// behind the former owner's last write.
func SameButOwnership(old, next v1alpha1.VmGroupStatus) bool {
	next.Ownership = old.Ownership
	return sameStatus(&old, &next)
}

// Large reports whether a status has so many VMs that its writer sends only what changed. Each write is sent to all watchers whole.
func Large(status *v1alpha1.VmGroupStatus) bool { return len(status.VMs) > 20 }

// sameButDetails reports whether two statuses differ in details of VMs at most: the address, and new times since when a VM runs and is ready. No user or
// tool waits for them, and a time that is stored late makes a time limit longer.
func sameButDetails(old, next v1alpha1.VmGroupStatus) bool {
	if len(old.VMs) != len(next.VMs) {
		return false
	}
	vms := slices.Clone(next.VMs)
	for i := range vms {
		vm, was := &vms[i], &old.VMs[i]
		vm.IPAddress = was.IPAddress
		if vm.StartTime != nil {
			vm.StartTime = was.StartTime
		}
		if vm.ReadySince != nil {
			vm.ReadySince = was.ReadySince
		}
	}
	next.VMs = vms
	return sameStatus(&old, &next)
}

// sameStatus reports whether two statuses are equal. Most passes change nothing, and DeepEqual of identical values takes half the time.
func sameStatus(a, b *v1alpha1.VmGroupStatus) bool {
	return reflect.DeepEqual(a, b) || equality.Semantic.DeepEqual(a, b)
}
