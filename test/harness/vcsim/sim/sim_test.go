package sim_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// TestMain keeps the simulator's own log out of the tests' output.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T, o sim.Options) (*sim.Simulator, *sim.Operator) {
	t.Helper()
	s, err := sim.Start(o)
	must(t, err)
	t.Cleanup(s.Close)
	p, err := s.Operator(context.Background())
	must(t, err)
	t.Cleanup(p.Close)
	return s, p
}

func TestTwoSimulatorsShareNoInventory(t *testing.T) {
	ctx := context.Background()
	_, a := start(t, sim.Options{Templates: []string{"one", "two"}})
	_, b := start(t, sim.Options{TLS: true})
	_, err := a.CreateVM(ctx, "/DC0/vm", "only-in-a")
	must(t, err)
	inA, err := a.VMs(ctx)
	must(t, err)
	inB, err := b.VMs(ctx)
	must(t, err)
	if len(inA) != 4 || len(inB) != 2 {
		t.Errorf("%d and %d VMs, want 4 and 2: %v, %v", len(inA), len(inB), inA, inB)
	}
	if !inA["/DC0/vm/one"].Template || inA["/DC0/vm/db-prod-0"].Template {
		t.Errorf("templates are wrong: %+v", inA)
	}
	// A session of one does not exist in the other.
	n, err := b.TerminateSessions(ctx)
	must(t, err)
	if n != 0 {
		t.Errorf("%d sessions were terminated", n)
	}
}

func TestClonesOfOneTemplateRunAtTheSameTime(t *testing.T) {
	ctx := context.Background()
	// Sequentially they would take 20 s; even a busy machine needs less than that for two seconds of work.
	const delay, clones = time.Second, 20
	_, p := start(t, sim.Options{CloneDelay: delay})
	began := time.Now()
	tasks := make([]*object.Task, 0, clones)
	for i := range clones {
		task, err := p.StartClone(ctx, "/DC0/vm/vm-operator-template", "/DC0/vm", fmt.Sprint("clone-", i), nil)
		must(t, err)
		tasks = append(tasks, task)
	}
	for _, task := range tasks {
		must(t, task.Wait(ctx))
	}
	if took := time.Since(began); took < delay || took >= clones*delay {
		t.Errorf("%d clones of %v took %v", clones, delay, took)
	}
}

func TestHelpers(t *testing.T) {
	ctx := context.Background()
	s, p := start(t, sim.Options{AdminUsername: "me", AdminPassword: "secret"})
	proxy, err := sim.NewProxy(s.URL)
	must(t, err)
	t.Cleanup(proxy.Close)
	if _, err := sim.NewOperator(ctx, proxy.URL, "me", "wrong"); err == nil {
		t.Error("a wrong password is accepted")
	}
	q, err := sim.NewOperator(ctx, proxy.URL, "me", "secret")
	must(t, err)
	t.Cleanup(q.Close)
	must(t, q.Set(ctx, "/DC0/vm/db-prod-0", map[string]string{"k": "v"}))
	must(t, q.PowerOn(ctx, "/DC0/vm/db-prod-0"))
	_, err = q.Copy(ctx, "/DC0/vm/db-prod-0", "/DC0/vm", "copy")
	must(t, err)
	must(t, q.Rename(ctx, "/DC0/vm/copy", "other"))
	vms, err := p.VMs(ctx)
	must(t, err)
	if !vms["/DC0/vm/db-prod-0"].On || vms["/DC0/vm/other"].Extra["k"] != "v" {
		t.Errorf("VMs are %+v", vms)
	}
	must(t, q.Destroy(ctx, "/DC0/vm/db-prod-0"))
	if n := proxy.Count("PowerOnVM_Task", sim.UserAgent); n != 1 {
		t.Errorf("%d power-ons were counted", n)
	}
	if n := proxy.Count("Login", ""); n != 2 {
		t.Errorf("%d logins were counted", n)
	}
	if _, err := sim.Start(sim.Options{Listen: "not an address"}); err == nil {
		t.Error("a bad address is accepted")
	}
}

func TestAListingWhileVMsComeAndGoIsNoError(t *testing.T) {
	h := person(t, sim.Options{})
	h.mkdir(root, "busy")
	ctx, stop := context.WithCancel(h.ctx)
	churn := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if _, err := h.CreateVM(h.ctx, root+"/busy", "comes-and-goes"); err != nil {
				churn <- err
				return
			}
			if err := h.Destroy(h.ctx, root+"/busy/comes-and-goes"); err != nil {
				churn <- err
				return
			}
		}
		churn <- nil
	}()
	for range 150 {
		if _, err := h.VMs(h.ctx); err != nil {
			t.Error(err)
			break
		}
	}
	stop()
	must(t, <-churn)
}

func TestASwitchNamesItsUplinkPortGroups(t *testing.T) {
	h := person(t, sim.Options{})
	network, err := h.find.Network(h.ctx, "DVS0")
	must(t, err)
	var dvs mo.DistributedVirtualSwitch
	must(t, property.DefaultCollector(h.Client()).RetrieveOne(h.ctx, network.Reference(), []string{"config"}, &dvs))
	if n := len(dvs.Config.GetDVSConfigInfo().UplinkPortgroup); n != 1 {
		t.Errorf("it names %d, want 1", n)
	}
}
