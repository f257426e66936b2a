package govmomi_test

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestWhatAQuestionHoldsNeedNotWaitOnceTheVMIsAnother(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode).ensure()
		vm := r.clone(0)
		r.proxy.Hook(func(c sim.Call) faultproxy.Fault {
			if c.UserAgent == agent && (c.Method == "ReconfigVM_Task" || c.Method == "Destroy_Task") {
				return sim.SOAPFault(&types.QuestionPending{Text: "moved or copied?"})
			}
			return faultproxy.Fault{}
		})
		wantKind(t, r.server.Mark(r.ctx, target(vm)), vsphere.KindBusy)
		f := r.observe().Failures
		if len(f) != 1 || f[0].Kind != vsphere.OpMark || f[0].Met != vm.Met() || f[0].Outdated(&vm) {
			t.Fatalf("failures: %+v", f)
		}
		must(t, r.server.PowerOn(r.ctx, target(vm)))
		var on vsphere.VM
		r.until("the VM is on", func() bool {
			on, _ = find(r.observe(), 0)
			return on.Power == vsphere.PoweredOn
		})
		if !f[0].Outdated(&on) {
			t.Errorf("it waits, although the VM is on since: %+v", f[0])
		}
	})
}
