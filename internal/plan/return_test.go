package plan

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// TestVMsThatDoNotReturnFromARestartAreReplacedThoughOthersAreMissing: two VMs of a template that never boots were
// restarted for another size. An edit to a template that boots replaces both, although none can be added, and each is
// missing while the other does not return.
func TestVMsThatDoNotReturnFromARestartAreReplacedThoughOthersAreMissing(t *testing.T) {
	s := newSaga(t, 2)
	s.spec.UpdateStrategy = s.strategy(number(2), number(1))
	s.broken("debian-13")
	s.until(func(p Plan) bool { return p.Updated == 2 && len(s.vms) == 3 })
	s.looks(2)
	s.spec.CPU++
	s.until(reason(v1alpha1.ReasonRolloutStopped))
	s.spec.UpdateStrategy = s.strategy(nil, nil)
	s.template("debian-14")
	s.until(settled)
}
