package govmomi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// removed is a rig whose operator cloned two VMs and ended after their removal. expected is the groups' record.
func removed(t *testing.T, remove func(r *rig, vm vsphere.VM), opts ...option) (r *rig, expected vsphere.Expectation) {
	t.Helper()
	r = newRig(t, govmomi.Poll, opts...).ensure()
	vms := []vsphere.VM{r.clone(0), r.clone(1)}
	expected.VMs = len(vms)
	for _, vm := range vms {
		expected.Recorded = append(expected.Recorded, vm.Ref)
		remove(r, vm)
	}
	r.until("both are deleted", func() bool { return len(r.observe().VMs) == 0 || r.server.Health().SuddenlyEmpty })
	r.stop()
	r.cfg.ExpectedVMs = len(vms)
	return r, expected
}

// byOperator removes a VM on request.
func byOperator(r *rig, vm vsphere.VM) {
	r.t.Helper()
	must(r.t, r.server.Mark(r.ctx, target(vm)))
	r.until("it is marked", func() bool { return len(r.observe().InFlight) == 0 })
	must(r.t, r.server.Destroy(r.ctx, target(vm)))
}

func byPerson(r *rig, vm vsphere.VM) {
	r.t.Helper()
	must(r.t, r.person.Destroy(r.ctx, vmPath+vm.Name))
}

// forgetTasks fills vCenter's recent tasks with those of another client: it keeps the last 200.
func (r *rig) forgetTasks() {
	r.t.Helper()
	for range 101 {
		must(r.t, r.person.Rename(r.ctx, "/DC0/vm/db-prod-0", "db-prod-1"))
		must(r.t, r.person.Rename(r.ctx, "/DC0/vm/db-prod-1", "db-prod-0"))
	}
}

// TestAPredecessorsRemovalsNeedNobodysWord: the only replica ends while the last VMs are destroyed on request. Its
// successor finds an empty root folder, asks vCenter and continues automatically. It does so although the tasks are
// forgotten, the events come late, and vCenter spells the account differently from the login.
func TestAPredecessorsRemovalsNeedNobodysWord(t *testing.T) {
	r, expected := removed(t, byOperator, func(o *sim.Options, cfg *govmomi.Config) {
		o.Username, o.EventDomain, o.EventDelay = "user@vsphere.local", "VSPHERE.LOCAL", time.Second
		cfg.Session.Username = o.Username
	})
	r.forgetTasks()
	r.start()
	r.until("alarm", func() bool { h := r.server.Health(); return h.SuddenlyEmpty && !h.Complete })
	r.server.ExpectVMs(expected)
	r.until("the alarm ends", func() bool { h := r.server.Health(); return !h.SuddenlyEmpty && h.Complete })
}

// TestRemovalsThatNobodyExplainsWaitForAPerson: an unexplained absence is no deletion.
func TestRemovalsThatNobodyExplainsWaitForAPerson(t *testing.T) {
	runsInParallel(t)
	unreadable := func(r *rig) {
		r.proxy.Hook(func(c sim.Call) faultproxy.Fault {
			if c.Method == "QueryEvents" {
				return faultproxy.Fault{Act: faultproxy.Answer, Status: 500, Body: []byte(refusal)}
			}
			return faultproxy.Fault{}
		})
	}
	for _, test := range []struct {
		story  string
		remove func(r *rig, vm vsphere.VM)
		before func(r *rig)
		expect func(e *vsphere.Expectation)
	}{
		{"a person removed them", byPerson, func(*rig) {}, func(*vsphere.Expectation) {}},
		{"a person removed one", func(r *rig, vm vsphere.VM) {
			if vm.Stamp.Ordinal == 0 {
				byPerson(r, vm)
				return
			}
			byOperator(r, vm)
		}, func(*rig) {}, func(*vsphere.Expectation) {}},
		{"events cannot be read", byOperator, unreadable, func(*vsphere.Expectation) {}},
		{"a group has recorded nothing", byOperator, func(*rig) {}, func(e *vsphere.Expectation) { e.Unrecorded = true }},
		{"a group has recorded more", byOperator, func(*rig) {}, func(e *vsphere.Expectation) { e.Recorded = append(e.Recorded, vsphere.VMRef("vm-99999")) }},
	} {
		t.Run(test.story, func(t *testing.T) {
			r, expected := removed(t, test.remove)
			r.forgetTasks()
			test.before(r)
			test.expect(&expected)
			r.start()
			r.until("alarm", func() bool { h := r.server.Health(); return h.SuddenlyEmpty && !h.Complete })
			r.server.ExpectVMs(expected)
			asked := func() int { return r.proxy.Count("QueryEvents", agent) }
			if before := asked(); !expected.Unrecorded {
				r.until("vCenter was asked twice, once for the account's events and once for all", func() bool { return asked() >= before+2 })
			}
			listings := func() int { return r.proxy.Count("RetrievePropertiesEx", agent) }
			before := listings()
			r.until("the answer is there, and the folder was listed since", func() bool { return listings() > before+3 })
			r.server.ExpectVMs(expected) // a later check has the same result
			r.server.ExpectVMs(expected)
			if h := r.server.Health(); !h.SuddenlyEmpty || h.Complete {
				t.Errorf("the alarm ended: %+v", h)
			}
			r.server.AcceptEmpty()
			r.until("a person's word is enough", func() bool { h := r.server.Health(); return !h.SuddenlyEmpty && h.Complete })
		})
	}
}

// refusal is vCenter's response to a rejected read.
var refusal = strings.Join([]string{
	`<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>`,
	`<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>no</faultstring><detail>`,
	`<NoPermissionFault xmlns="urn:vim25" xsi:type="NoPermission"><object type="EventManager">EventManager</object><privilegeId>System.View</privilegeId></NoPermissionFault>`,
	`</detail></soapenv:Fault></soapenv:Body></soapenv:Envelope>`,
}, "")
