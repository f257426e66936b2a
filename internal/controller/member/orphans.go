package member

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group/orphans"
)

// orphansSettle is how long a member must have been engaged before it is believed that it has no orphans: the vCenters look for them every
// few seconds, and believe what they see after a minute.
const orphansSettle = 2 * time.Minute

// orphaned are the groups of a member that do not exist any more and have VMs. known is false while there may be more.
type orphaned struct {
	groups []orphans.Group
	known  bool
}

// orphansOf asks for the orphans of a member, and says when to ask again to learn whether there are none, or zero.
func orphansOf(of *fleet.Fleet, status *v1alpha1.MemberClusterStatus, member string, seen observation, now time.Time) (is orphaned, again time.Duration) {
	is.groups, is.known = of.Orphans(member)
	settled := seen.phase == phaseEngaged && seen.problem == nil && now.Sub(seen.engagedAt) >= orphansSettle
	is.known = is.known && settled
	if !is.known && meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionOrphanedVMs) != nil {
		again = orphansSettle
	}
	return is, again
}

// setOrphans tells which VMs of the member have no VmGroup any more. It stays while nobody knows whether there are any.
func setOrphans(status *v1alpha1.MemberClusterStatus, in statusInput) {
	switch {
	case len(in.orphaned.groups) > 0:
		set(status, in, metav1.Condition{Type: v1alpha1.ConditionOrphanedVMs, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonGroupGone, Message: fmt.Sprintf(
			"%d VMs of %d VmGroups that do not exist any more are in vCenter: %s. If the member's etcd came back from a backup, the groups were newer than it. %s",
			orphans.Count(in.orphaned.groups), len(in.orphaned.groups), orphans.Describe(in.orphaned.groups), orphans.WayOut(in.orphaned.groups))})
	case in.orphaned.known:
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionOrphanedVMs)
	}
}
