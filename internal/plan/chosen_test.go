package plan

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// TestVMsThatWaitToBeRestartedKeepToTheBudget (see checkBudget): slots are few, VMs are sick for a while, and the owner
// changes. The update still ends. If more than one VM can be missing, it reaches all others while one stays
// unreachable.
func TestVMsThatWaitToBeRestartedKeepToTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSaga(t, rapid.Int32Range(2, 6).Draw(t, "replicas"))
		missing := rapid.IntRange(1, 3).Draw(t, "unavailable")
		s.strategy(number(rapid.IntRange(0, 1).Draw(t, "surge")), number(missing))
		s.spec.UpdateStrategy.MaxFailures = 100
		s.spec.Readiness.MinReadySeconds = rapid.SampledFrom([]int32{0, 20, 40}).Draw(t, "min ready")
		s.spec.Shutdown = &v1alpha1.Shutdown{Mode: rapid.SampledFrom([]v1alpha1.ShutdownMode{v1alpha1.ShutdownHard, v1alpha1.ShutdownGraceful}).Draw(t, "shutdown")}
		s.until(settled)
		s.spec.CPU = 4
		for range rapid.IntRange(1, 30).Draw(t, "looks") {
			vms := s.sorted()
			switch vm := vms[rapid.IntRange(0, len(vms)-1).Draw(t, "vm")]; rapid.IntRange(0, 5).Draw(t, "event") {
			case 0:
				vm.boot = 1000 - vm.boot // toggles sick and healthy
			case 1:
				toggle(vm)
			case 2:
				s.crash()
			}
			s.others = rapid.IntRange(0, 2).Draw(t, "slots")
			s.step(nil)
			s.tick()
		}
		s.others = 99
		for _, vm := range s.sorted() {
			vm.boot, vm.Connection = 1, vsphere.Connected
		}
		if missing > 1 && len(s.vms) > missing {
			away := rapid.SampledFrom(s.sorted()).Draw(t, "away")
			away.Connection = vsphere.Disconnected
			s.until(func(p Plan) bool { return len(p.Outdated) <= 1 })
			away.Connection = vsphere.Connected
		}
		s.until(settled)
	})
}
