package session_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// boots are the dead runs; the empty one stands for all.
type boots map[string]bool

func (b boots) BootDead(boot string) bool { return b[boot] || b[""] }

func process(boot string) *session.Process {
	return &session.Process{Boot: boot, Boots: boots{"": true}}
}

// open logs in as a process, for an installation and a VCenter.
func open(t *testing.T, url, installation, vcenter string, p *session.Process) *session.Session {
	t.Helper()
	cfg := config(url)
	cfg.Identity = session.Identity{Installation: installation, VCenter: vcenter, Process: p}
	s, err := session.Open(context.Background(), cfg)
	must(t, err)
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

func sessions(t *testing.T, sm *sim.Simulator) int {
	t.Helper()
	n, err := sm.Sessions(context.Background())
	must(t, err)
	return n
}

func end(t *testing.T, s *session.Session, want int) {
	t.Helper()
	n, err := s.EndLeftovers(context.Background())
	if err != nil || n != want {
		t.Errorf("%d sessions were ended, %v; want %d", n, err, want)
	}
}

func TestThirtyKilledProcessesLeaveOneSession(t *testing.T) {
	sm, proxy := start(t, sim.Options{})
	for i := range 31 {
		s := open(t, proxy.URL, "inst", "default", process(fmt.Sprint("boot-", i)))
		end(t, s, min(i, 1))
		// The process is killed: it does not log out.
	}
	if n := sessions(t, sm); n != 1 {
		t.Errorf("%d sessions after 30 kills, want 1", n)
	}
}

func TestSessionsOfOthersAreLeftAlone(t *testing.T) {
	sm, proxy := start(t, sim.Options{})
	me := process("me")
	open(t, proxy.URL, "inst", "other-vcenter", process("dead"))
	open(t, proxy.URL, "other-inst", "default", process("dead"))
	open(t, proxy.URL, "inst", "default", me) // in addition to this one: a connection that is being replaced
	plain, err := session.Open(context.Background(), config(proxy.URL))
	must(t, err)
	t.Cleanup(func() { must(t, plain.Close(context.Background())) })
	admin := config(proxy.URL)
	admin.Username, admin.Password = sim.AdminUsername, sim.AdminPassword
	admin.Identity = session.Identity{Installation: "inst", VCenter: "default", Process: process("dead")}
	other, err := session.Open(context.Background(), admin)
	must(t, err)
	t.Cleanup(func() { must(t, other.Close(context.Background())) })
	before := sessions(t, sm)

	s := open(t, proxy.URL, "inst", "default", me)
	end(t, s, 0)
	if n := sessions(t, sm); n != before+1 {
		t.Errorf("%d sessions, want %d", n, before+1)
	}
	living := process("careful")
	living.Boots = boots{}
	end(t, open(t, proxy.URL, "inst", "default", living), 0)
	unknowing := &session.Process{Boot: "unknowing"}
	end(t, open(t, proxy.URL, "inst", "default", unknowing), 0)
}

// Right after a start, the predecessor's death is not known yet.
func TestAPredecessorThatTurnsOutToBeDeadLaterIsEndedThen(t *testing.T) {
	sm, proxy := start(t, sim.Options{})
	open(t, proxy.URL, "inst", "default", process("killed"))
	open(t, proxy.URL, "inst", "default", process("beside"))
	dead := boots{}
	me := &session.Process{Boot: "me", Boots: dead}
	s := open(t, proxy.URL, "inst", "default", me)
	end(t, s, 0)
	dead["killed"] = true
	end(t, s, 1)
	end(t, s, 0)
	if n := sessions(t, sm); n != 2 {
		t.Errorf("%d sessions, want those of the living two", n)
	}
	must(t, serverTime(context.Background(), s))
}

// A process that was paused and overtaken logs in again when it resumes: its successor ended its session.
func TestAProcessThatWasOvertakenLeavesItsSuccessorAlone(t *testing.T) {
	_, proxy := start(t, sim.Options{})
	dead := boots{"": true}
	overtaken := &session.Process{Boot: "overtaken", Boots: dead}
	old := open(t, proxy.URL, "inst", "default", overtaken)
	dead[""] = false // it cannot act any more, and so does not report dead processes
	successor := open(t, proxy.URL, "inst", "default", process("successor"))
	end(t, successor, 1)
	must(t, serverTime(context.Background(), old)) // logs in again
	end(t, old, 0)
	generation, _ := successor.Generation()
	must(t, serverTime(context.Background(), successor))
	if now, _ := successor.Generation(); now != generation {
		t.Error("the session of the successor was ended by the process that it had overtaken")
	}
}

func TestALoginWhoseReplyWasLostLeavesNothing(t *testing.T) {
	sm, proxy := start(t, sim.Options{})
	cfg := config(proxy.URL)
	cfg.Identity = session.Identity{Installation: "inst", VCenter: "default", Process: process("me")}
	s, err := session.Dial(context.Background(), cfg)
	must(t, err)
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	lost := false
	proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if c.Method == "Login" && !lost {
			lost = true
			return faultproxy.Fault{Act: faultproxy.CutAfter}
		}
		return faultproxy.Fault{}
	})
	if err := s.Login(context.Background()); vsphere.KindOf(err) != vsphere.KindTransient {
		t.Fatalf("a login whose reply is lost: %v", err)
	}
	must(t, s.Login(context.Background()))
	if n := sessions(t, sm); n != 2 {
		t.Fatalf("%d sessions, the test wants the lost one and the other", n)
	}
	end(t, s, 1)
	if n := sessions(t, sm); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
	must(t, serverTime(context.Background(), s))
}

func TestASessionOfThisProcessThatCouldNotLogOutIsEnded(t *testing.T) {
	sm, proxy := start(t, sim.Options{})
	me := process("me")
	old := open(t, proxy.URL, "inst", "default", me)
	proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if c.Method == "Logout" {
			return faultproxy.Fault{Act: faultproxy.CutBefore}
		}
		return faultproxy.Fault{}
	})
	if err := old.Close(context.Background()); err == nil {
		t.Fatal("the logout arrived, the test wants it cut")
	}
	end(t, open(t, proxy.URL, "inst", "default", me), 1)
	if n := sessions(t, sm); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
}

func TestWithoutThePrivilegeOfEndingSessionsTheErrorSaysSo(t *testing.T) {
	_, proxy := start(t, sim.Options{})
	open(t, proxy.URL, "inst", "default", process("dead"))
	s := open(t, proxy.URL, "inst", "default", process("me"))
	proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if c.Method == "TerminateSession" {
			return sim.SOAPFault(&types.NoPermission{PrivilegeId: vsphere.PrivilegeSessions})
		}
		return faultproxy.Fault{}
	})
	if _, err := s.EndLeftovers(context.Background()); vsphere.KindOf(err) != vsphere.KindPermission {
		t.Errorf("error is %v", err)
	}
	must(t, serverTime(context.Background(), s))
}

// A search that began before the session was ended found the session of its own new login, and vCenter refused to end it.
func TestASearchForUnusedSessionsDuringALoginEndsNoneOfItsOwn(t *testing.T) {
	sm, proxy := start(t, sim.Options{})
	me := process("me")
	me.Boots = boots{}
	s := open(t, proxy.URL, "inst", "default", me)
	successor := open(t, proxy.URL, "inst", "default", process("successor"))
	overtaken := false
	proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if strings.HasPrefix(c.Method, "RetrieveProperties") && !overtaken {
			overtaken = true
			if n, err := successor.EndLeftovers(context.Background()); n != 1 || err != nil {
				t.Errorf("%d sessions were ended, %v; the test wants the one that searches", n, err)
			}
		}
		return faultproxy.Fault{}
	})
	end(t, s, 0)
	if n := sessions(t, sm); !overtaken || n != 2 {
		t.Errorf("%d sessions, want those of both; the search was overtaken: %t", n, overtaken)
	}
}
