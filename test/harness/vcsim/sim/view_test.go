package sim_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// The race detector detects a view that reads a list of children during a task's change, or a VM that a task is
// still filling in.
func TestViewsAreMadeAndReadWhileVMsComeAndGo(t *testing.T) {
	h := person(t, sim.Options{})
	made := func() *view.ContainerView {
		v, err := view.NewManager(h.Client()).CreateContainerView(h.ctx, h.Client().ServiceContent.RootFolder, nil, true)
		if err != nil {
			t.Error(err)
			return nil
		}
		return v
	}
	lasting := made()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	for _, look := range []func(){
		func() {
			if v := made(); v != nil {
				_ = v.Destroy(h.ctx)
			}
		},
		func() {
			var vms []types.ObjectContent
			_ = lasting.Retrieve(h.ctx, []string{"VirtualMachine"}, []string{"name"}, &vms) // one can be deleted
		},
	} {
		wg.Go(func() {
			for !t.Failed() {
				look()
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i := range 30 {
		name := fmt.Sprint("vm-", i)
		_, err := h.CreateVM(h.ctx, root, name)
		must(t, err)
		if i%2 == 0 {
			must(t, h.Destroy(h.ctx, root+"/"+name))
		}
	}
}
