package govmomi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const templatePath = "/DC0/vm/vm-operator-template"

func granted(privileges ...string) option {
	return func(o *sim.Options, _ *govmomi.Config) {
		o.Privileges = slices.Concat(sim.OperatorPrivileges, privileges)
	}
}

func (r *rig) boots(name string) sim.FirstBoot {
	r.t.Helper()
	boot, err := r.person.FirstBoot(r.ctx, vmPath+name)
	must(r.t, err)
	return boot
}

// The guest was Ready without user data, host name and its own instance ID.
func TestUserDataReachesTheGuestOfATemplateFromAnOVA(t *testing.T) {
	r := edited(t, func(r *rig) error {
		return r.person.FromOVA(r.ctx, templatePath, map[string]string{"hostname": "ova"})
	}, granted(vsphere.PrivilegeVApp))
	clone := func(ordinal int32, change func(*vsphere.CloneRequest)) sim.FirstBoot {
		r.t.Helper()
		req := r.request(ordinal)
		change(&req)
		must(t, r.server.Clone(r.ctx, req))
		return r.boots(r.settled(ordinal).Name)
	}
	if boot := clone(0, func(req *vsphere.CloneRequest) { req.UserData = []byte("#cloud-config") }); boot.UserData != "#cloud-config" {
		t.Errorf("user data: the guest boots with %+v", boot)
	}
	if boot := clone(1, func(req *vsphere.CloneRequest) { req.Metadata = &vsphere.Metadata{Hostname: "web-0"} }); !strings.Contains(boot.Metadata, "web-0") {
		t.Errorf("metadata: the guest boots with %+v", boot)
	}
	if boot := clone(2, func(req *vsphere.CloneRequest) { req.Ignition = []byte("{}") }); boot.Ignition != "{}" || boot.Datasource != "OVF" {
		t.Errorf("Ignition: the guest boots with %+v", boot)
	}
	if boot := clone(3, func(*vsphere.CloneRequest) {}); boot.Datasource != "OVF" {
		t.Errorf("nothing to hand over: the guest boots with %+v", boot)
	}
}

func TestATemplateFromAnOVANeedsAPrivilegeForUserData(t *testing.T) {
	r := edited(t, func(r *rig) error { return r.person.FromOVA(r.ctx, templatePath, nil) })
	req := r.request(0)
	req.UserData = []byte("#cloud-config")
	err := r.server.Clone(r.ctx, req)
	wantKind(t, err, vsphere.KindPermission)
	if !strings.Contains(err.Error(), vsphere.PrivilegeVApp) || !strings.Contains(err.Error(), "vApp properties") {
		t.Errorf("the error is %q", err)
	}
	must(t, r.server.Clone(r.ctx, r.request(1)))
	r.settled(1)
}

func (r *rig) note(name string) string {
	r.t.Helper()
	vm, err := newFinder(r).VirtualMachine(r.ctx, vmPath+name)
	must(r.t, err)
	var props mo.VirtualMachine
	must(r.t, vm.Properties(r.ctx, vm.Reference(), []string{"config.annotation"}, &props))
	if props.Config == nil {
		return "" // there is none
	}
	return props.Config.Annotation
}

func TestAVMHasANoteWhereTheAccountMayWriteIt(t *testing.T) {
	const note = "vg-0 was made for a VmGroup"
	for story, c := range map[string]struct {
		may, refused bool
		want         string
	}{
		"with the privilege": {true, false, note},
		"without":            {false, false, ""},
		"with it on the root folder, and refused for the VM": {true, true, ""},
	} {
		var opts []option
		if c.may {
			opts = append(opts, granted(vsphere.PrivilegeNotes))
		}
		r := newRig(t, govmomi.Watch, opts...).ensure()
		r.proxy.Hook(func(call sim.Call) faultproxy.Fault {
			if c.refused && call.Method == "CloneVM_Task" && call.UserAgent == agent && r.proxy.Count("CloneVM_Task", agent) == 1 {
				return sim.SOAPFault(&types.NoPermission{PrivilegeId: vsphere.PrivilegeNotes})
			}
			return faultproxy.Fault{}
		})
		for ordinal := range int32(2) {
			req := r.request(ordinal)
			req.Note = note
			must(t, r.server.Clone(r.ctx, req))
			if got := r.note(r.settled(ordinal).Name); got != c.want {
				t.Errorf("%s: the note is %q, want %q", story, got, c.want)
			}
		}
		if want := map[bool]int{false: 2, true: 3}[c.refused]; r.proxy.Count("CloneVM_Task", agent) != want {
			t.Errorf("%s: %d clones were submitted, want %d", story, r.proxy.Count("CloneVM_Task", agent), want)
		}
	}
}
