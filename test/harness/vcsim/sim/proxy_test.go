package sim_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const proxyTemplate = "/DC0/vm/template"

// proxied starts a simulator and a proxy; the hand's calls pass the proxy.
func proxied(t *testing.T) (hand, *sim.Proxy) {
	t.Helper()
	s, straight := start(t, sim.Options{Templates: []string{"template"}})
	proxy, err := sim.NewProxy(s.URL)
	must(t, err)
	t.Cleanup(proxy.Close)
	proxy.AskOwners(straight)
	through, err := sim.NewOperator(context.Background(), proxy.URL, sim.AdminUsername, sim.AdminPassword)
	must(t, err)
	t.Cleanup(through.Close)
	return newHand(t, through), proxy
}

func TestChangesAreRecordedWithTheirGroupAndOutcomeAndReadsAreCountedAlone(t *testing.T) {
	h, proxy := proxied(t)
	stamp := map[string]string{"vmgroup.owner": "v1;installation;member;the-group;0", "vmgroup.epoch": "3.7"}
	for _, taken := range []bool{false, true} {
		task, err := h.StartClone(h.ctx, proxyTemplate, "/DC0/vm", "made", stamp)
		must(t, err)
		if err := task.Wait(h.ctx); (err != nil) != taken {
			t.Fatalf("the name is taken: %t, the task: %v", taken, err)
		}
	}
	must(t, h.PowerOn(h.ctx, "/DC0/vm/made"))
	if _, err := h.folder("/DC0/vm").CreateFolder(h.ctx, strings.Repeat("x", 200)); err == nil {
		t.Error("a name of 200 characters was taken")
	}
	var records []sim.Record
	h.until("all calls have ended", func() bool {
		records = proxy.Changes()
		return len(records) == 4 && !slices.ContainsFunc(records, func(r sim.Record) bool { return r.End.IsZero() })
	})
	for i, want := range []struct{ method, group, outcome string }{
		{"CloneVM_Task", "the-group", "ok"}, {"CloneVM_Task", "the-group", "ok"},
		{"PowerOnVM_Task", "the-group", "ok"}, {"CreateFolder", "", "InvalidName"},
	} {
		r := records[i]
		if r.Method != want.method || r.Group != want.group || r.Outcome != want.outcome || r.End.Before(r.Start) {
			t.Errorf("record %d is %+v, want %+v", i, r, want)
		}
		if want := map[bool]string{true: "3.7"}[r.Method == "CloneVM_Task"]; r.Epoch != want {
			t.Errorf("record %d of %s has epoch %q, want %q", i, r.Method, r.Epoch, want)
		}
		if strings.HasSuffix(r.Method, "_Task") != (r.Task != "") {
			t.Errorf("record %d of %s has task %q", i, r.Method, r.Task)
		}
	}
	if records[0].Name != "made" || proxy.Count("RetrievePropertiesEx", "")+proxy.Count("RetrieveProperties", "") == 0 {
		t.Errorf("name %q, calls %v", records[0].Name, proxy.Calls())
	}
}

func TestTheOperationOfACallTellsItsEpoch(t *testing.T) {
	h, proxy := proxied(t)
	ctx := context.WithValue(h.ctx, types.ID{}, "vmgroup-2.9-a1b2")
	task, err := h.StartClone(ctx, proxyTemplate, "/DC0/vm", "made", nil)
	must(t, err)
	must(t, task.Wait(h.ctx)) // no activity of the simulator continues after the test
	h.until("the call has ended", func() bool {
		records := proxy.Changes("CloneVM_Task")
		return len(records) == 1 && records[0].Operation == "vmgroup-2.9-a1b2" && records[0].Epoch == "2.9" && records[0].Name == "made"
	})
}

func TestACallIsAnsweredWithAFaultInsteadOfBeingForwarded(t *testing.T) {
	h, proxy := proxied(t)
	proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if c.Method == "CreateFolder" {
			return sim.SOAPFault(&types.NoPermission{PrivilegeId: "Folder.Create"})
		}
		return faultproxy.Fault{}
	})
	_, err := h.folder("/DC0/vm").CreateFolder(h.ctx, "never")
	if fault := refused[*types.NoPermission](t, err); fault != nil && fault.PrivilegeId != "Folder.Create" {
		t.Errorf("the fault came as %+v", fault)
	}
	proxy.Hook(nil)
	h.mkdir("/DC0/vm", "never") // it was not created before
}

func TestACallEndsForItsClientWhenItGivesUpAndForTheServerWhenItIsDone(t *testing.T) {
	h, proxy := proxied(t)
	done, forwarded := make(chan struct{}), make(chan struct{})
	proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if c.Method != "CreateFolder" {
			return faultproxy.Fault{}
		}
		return faultproxy.Fault{After: func() { close(forwarded); <-done }}
	})
	ctx, giveUp := context.WithCancel(h.ctx)
	go func() { <-forwarded; giveUp() }()
	if _, err := h.folder("/DC0/vm").CreateFolder(ctx, "late"); err == nil {
		t.Fatal("the client had an answer")
	}
	record := func() sim.Record { return proxy.Changes("CreateFolder")[0] }
	h.until("the proxy has seen that the client disconnected", func() bool { return !record().Closed.IsZero() })
	if r := record(); !r.End.IsZero() || !r.Answered.IsZero() {
		t.Errorf("while the server is at it the record is %+v", r)
	}
	close(done)
	h.until("the server is done", func() bool { return !record().End.IsZero() })
	if r := record(); r.Outcome != "ok" || r.End.Before(r.Closed) || !r.Answered.IsZero() {
		t.Errorf("after the server's answer the record is %+v", r)
	}
	proxy.Hook(nil)
	h.mkdir("/DC0/vm", "in-time")
	if r := proxy.Changes("CreateFolder")[1]; r.Answered.IsZero() || !r.Closed.IsZero() || r.Answered.Before(r.Start) {
		t.Errorf("an undisturbed call is recorded as %+v", r)
	}
}
