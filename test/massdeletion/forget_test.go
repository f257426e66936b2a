//go:build unix && slow

package massdeletion

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// TestGroupsThatAreToBeForgottenKeepTheirVMsWhileTheirVCenterResponds: annotation forget leaves VMs behind. One
// group then releases its VMs, the other has them destroyed.
func TestGroupsThatAreToBeForgottenKeepTheirVMsWhileTheirVCenterResponds(t *testing.T) {
	stack.Story(t)
	shared.Enter(t)
	p := newPlace(t, single, "forgotten")
	before, all := p.fill(2, 3), names(0, 2)
	for name, g := range p.untilAll(all, "to be there", func(*v1alpha1.VmGroup) bool { return true }) {
		annotate(t, p.cluster, p.object(name), v1alpha1.ForgetAnnotation, string(g.UID))
	}
	p.delete(all)
	held := p.untilAll(all, "to be held", func(g *v1alpha1.VmGroup) bool {
		c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionStalled)
		return c != nil && c.Reason == v1alpha1.ReasonForgetHeld && strings.Contains(c.Message, fmt.Sprintf("kubectl annotate vmgroup %s -n %s %s-", g.Name, g.Namespace, v1alpha1.ForgetAnnotation))
	})
	takeOver(t)
	p.othersGo()
	p.same(before)

	annotate(t, p.cluster, p.object("web-0"), v1alpha1.ReleaseAnnotation, string(held["web-0"].UID))
	p.untilGone([]string{"web-0"})
	p.same(before)
	patch(t, p.cluster, p.object("web-1"), fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, v1alpha1.ForgetAnnotation))
	p.untilAll([]string{"web-1"}, "to wait", func(g *v1alpha1.VmGroup) bool {
		c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionRemoving)
		return c != nil && c.Reason == v1alpha1.ReasonDeletionPending
	})
	p.untilGone([]string{"web-1"})
	p.untilSame(without(before, []string{"web-1"}))
}
