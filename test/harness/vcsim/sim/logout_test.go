package sim_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestALogoutDuringReadsOfItsViewsEnds(t *testing.T) {
	s, _ := start(t, sim.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 50 {
		p, err := sim.NewOperator(ctx, s.URL, sim.AdminUsername, sim.AdminPassword)
		must(t, err)
		c := p.Client()
		v, err := view.NewManager(c).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
		must(t, err)
		var reads sync.WaitGroup
		began := make(chan struct{}, 4)
		for range cap(began) {
			reads.Go(func() {
				for {
					var vms []mo.VirtualMachine
					err := v.Retrieve(ctx, []string{"VirtualMachine"}, []string{"name"}, &vms)
					select {
					case began <- struct{}{}:
					default:
					}
					if err != nil {
						return // the session has ended
					}
				}
			})
		}
		<-began
		if err := session.NewManager(c).Logout(ctx); ctx.Err() != nil {
			t.Fatalf("a logout does not end while its session reads: %v", err)
		}
		reads.Wait()
	}
}
