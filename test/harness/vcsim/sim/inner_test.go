package sim_test

import (
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// TestInVirtualTimeACloneEndsWhileOthersReadItsFolder: it did not, because the simulator polled the task within the
// clone, with the folder locked, and a request that waits for a lock stops virtual time. On failure, the test does
// not end.
func TestInVirtualTimeACloneEndsWhileOthersReadItsFolder(t *testing.T) {
	s, p := start(t, sim.Options{})
	h := newHand(t, p)
	from, folder := h.vm(template).Reference(), h.folder(root).Reference()
	pool, err := h.find.ResourcePool(h.ctx, "/DC0/host/DC0_C0/Resources")
	must(t, err)
	spec := types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: types.NewReference(pool.Reference())}}
	synctest.Test(t, func(t *testing.T) {
		client := func() *vim25.Client {
			u, err := url.Parse(s.URL)
			must(t, err)
			sc := soap.NewClient(u, false)
			sc.Transport = s.Transport()
			vc, err := vim25.NewClient(t.Context(), sc)
			must(t, err)
			_, err = methods.Login(t.Context(), vc, &types.Login{This: *vc.ServiceContent.SessionManager, UserName: s.Username(), Password: s.Password()})
			must(t, err)
			return vc
		}
		cloner, reader := client(), client()
		done := make(chan struct{})
		go func() {
			defer close(done)
			source := object.NewVirtualMachine(cloner, from)
			for _, name := range []string{"a", "b", "c"} {
				task, err := source.Clone(t.Context(), object.NewFolder(cloner, folder), name, spec)
				must(t, err)
				must(t, task.Wait(t.Context()))
			}
		}()
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
			var f mo.Folder
			must(t, property.DefaultCollector(reader).RetrieveOne(t.Context(), folder, []string{"childEntity"}, &f))
		}
	})
}
