package sim_test

import (
	"testing"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestAPowerOnThatHangsAsksAndRefusesChangesUntilItEnds(t *testing.T) {
	for story, cancel := range map[string]bool{"it is answered": false, "it is canceled": true} {
		t.Run(story, func(t *testing.T) {
			s, p := start(t, sim.Options{Ordinary: []string{"db-prod-0", "db-prod-1"}})
			h := newHand(t, p)
			goOn := s.HoldPowerOn("db-prod-0", "moved or copied?")
			defer goOn()
			must(t, h.PowerOn(h.ctx, root+"/db-prod-1"))
			asks := func() string {
				var vm mo.VirtualMachine
				must(t, property.DefaultCollector(h.Client()).RetrieveOne(h.ctx, h.vm(ordinary).Reference(), []string{"runtime"}, &vm))
				if vm.Runtime.Question == nil {
					return string(vm.Runtime.PowerState)
				}
				return vm.Runtime.Question.Text
			}
			task, err := h.vm(ordinary).PowerOn(h.ctx)
			must(t, err)
			if got := asks(); got != "moved or copied?" {
				t.Errorf("it asks %q", got)
			}
			refused[*types.TaskInProgress](t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{Annotation: "x"}))
			refused[*types.TaskInProgress](t, h.PowerOff(h.ctx, ordinary))
			refused[*types.TaskInProgress](t, h.Destroy(h.ctx, ordinary))
			want := "poweredOn"
			if cancel {
				want = "poweredOff"
				must(t, task.Cancel(h.ctx))
				refused[*types.RequestCanceled](t, task.Wait(h.ctx))
			} else {
				goOn()
				must(t, task.Wait(h.ctx))
			}
			if got := asks(); got != want {
				t.Errorf("afterwards it is %q, want %q", got, want)
			}
			must(t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{Annotation: "x"}))
		})
	}
}
