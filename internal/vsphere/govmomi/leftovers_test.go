package govmomi_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// otherBoots counts the checks whether another process is dead.
type otherBoots struct {
	dead  atomic.Bool
	asked atomic.Int32
}

func (o *otherBoots) BootDead(string) bool {
	o.asked.Add(1)
	return o.dead.Load()
}

func TestASessionOfAProcessThatTurnsOutToBeDeadIsEndedWhileConnected(t *testing.T) {
	others := &otherBoots{}
	r := newRig(t, govmomi.Poll, func(_ *sim.Options, cfg *govmomi.Config) {
		cfg.Session.Identity = session.Identity{
			Installation: installation, VCenter: "test",
			Process: &session.Process{Boot: "me", Boots: others},
		}
	}).connected()
	killed := r.cfg.Session
	killed.Identity.Process = &session.Process{Boot: "killed"}
	_, err := session.Open(t.Context(), killed)
	must(t, err)
	held, err := r.sim.Sessions(r.ctx)
	must(t, err)
	logins := r.proxy.Count("Login", "")

	r.server.EndLeftovers() // no process is known to be dead
	r.until("a search for leftovers", func() bool { return others.asked.Load() > 0 })
	refused := atomic.Bool{}
	r.proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if c.Method == "TerminateSession" && refused.CompareAndSwap(false, true) {
			return sim.SOAPFault(&types.NoPermission{PrivilegeId: vsphere.PrivilegeSessions})
		}
		return faultproxy.Fault{}
	})
	others.dead.Store(true)
	r.server.EndLeftovers()
	r.until("the first try to be refused", refused.Load)
	if n, err := r.sim.Sessions(context.Background()); err != nil || n != held {
		t.Errorf("%d sessions, %v; want %d", n, err, held)
	}
	r.server.EndLeftovers()
	r.until("the dead process's session to be ended", func() bool {
		n, err := r.sim.Sessions(context.Background())
		return err == nil && n == held-1
	})
	if n := r.proxy.Count("Login", ""); n != logins {
		t.Errorf("%d logins, want none: the connection stays", n-logins)
	}
}
