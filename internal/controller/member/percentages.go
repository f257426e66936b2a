package member

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/foreigntext"
)

// namedPercentages is how many groups with percentages a condition names.
const namedPercentages = 10

// noPercentages is what is told of a member without any.
const noPercentages = "No VmGroup has a percentage, so that every release of the operator can read all of them."

// percentagesOf says which groups of a member have percentages. While that is not known it is what was said last, which may be nothing.
func (o *Options) percentagesOf(status *v1alpha1.MemberClusterStatus, member string) string {
	if o.Percentages == nil {
		return percentagesTold(status)
	}
	groups, known := o.Percentages(member)
	switch {
	case !known:
		return percentagesTold(status)
	case len(groups) == 0:
		return noPercentages
	default:
		more := ""
		if len(groups) > namedPercentages {
			more = fmt.Sprintf(" and %d more", len(groups)-namedPercentages)
		}
		named := make([]string, 0, namedPercentages)
		for _, name := range groups[:min(len(groups), namedPercentages)] {
			named = append(named, foreigntext.Name(name))
		}
		return fmt.Sprintf("%d VmGroups have percentages in updateStrategy.maxSurge, updateStrategy.maxUnavailable or repair.maxUnhealthy: %s%s. Releases of the operator that know "+
			"numbers only cannot read these, and lose all groups of the member. Before a rollback to such a release set numbers; docs/upgrade.md has the command that finds them all.",
			len(groups), strings.Join(named, ", "), more)
	}
}

func percentagesTold(status *v1alpha1.MemberClusterStatus) string {
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionPercentages); c != nil {
		return c.Message
	}
	return ""
}

// setPercentages tells what was counted; or what was told before, while nothing is to be written.
func setPercentages(status *v1alpha1.MemberClusterStatus, in statusInput) {
	message := percentagesTold(status)
	if in.counts != nil && in.counts.percentages != "" {
		message = in.counts.percentages
	}
	switch message {
	case "":
	case noPercentages:
		set(status, in, metav1.Condition{Type: v1alpha1.ConditionPercentages, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNoPercentages, Message: message})
	default:
		set(status, in, metav1.Condition{Type: v1alpha1.ConditionPercentages, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPercentagesUsed, Message: message})
	}
}
