package govmomi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestTemplates(t *testing.T) {
	r := newRig(t, govmomi.Poll, resyncOften, func(o *sim.Options, _ *govmomi.Config) {
		o.Templates = []string{"debian-12", "ubuntu"}
	}).connected()
	got, err := r.server.Template("debian-12")
	must(t, err)
	if got.Path != "/DC0/vm/debian-12" || !got.HasSnapshot || got.Host == "" ||
		!slices.Equal(got.Datastores, []string{"/DC0/datastore/LocalDS_0"}) || !slices.Equal(got.Networks, []string{"/DC0/network/VM Network"}) {
		t.Errorf("template is %+v", got)
	}
	byPath, err := r.server.Template("/DC0/vm/debian-12")
	must(t, err)
	if byPath.Ref != got.Ref {
		t.Errorf("by path: %+v", byPath)
	}
	_, err = r.server.Template("db-prod-0")
	wantKind(t, err, vsphere.KindNotTemplate)
	_, err = r.server.Template("fedora")
	wantKind(t, err, vsphere.KindNotFound)
	if !strings.Contains(err.Error(), `"fedora"`) {
		t.Errorf("message %q does not name the template", err)
	}
	must(t, r.person.AddTemplate(r.ctx, "/DC0/vm", "fedora"))
	r.until("the new template is found", func() bool { _, err := r.server.Template("fedora"); return err == nil })
	if h := r.server.Health(); h.Templates != 3 {
		t.Errorf("%d templates, want 3", h.Templates)
	}
	// The same name in another folder: only the path differs.
	must(t, r.person.AddTemplate(r.ctx, "/DC0/vm/vm-operator", "fedora"))
	r.until("ambiguous", func() bool {
		_, err := r.server.Template("fedora")
		return vsphere.KindOf(err) == vsphere.KindAmbiguous
	})
}

func TestTemplatesOfAFolderOnly(t *testing.T) {
	r := newRig(t, govmomi.Poll, func(_ *sim.Options, cfg *govmomi.Config) { cfg.TemplateFolders = []string{"/DC0/vm/golden"} }).connected()
	_, err := r.server.Template("vm-operator-template")
	wantKind(t, err, vsphere.KindNotFound)
}

func TestPlacement(t *testing.T) {
	r := newRig(t, govmomi.Poll).connected()
	got, err := r.server.Placement(vsphere.Placement{})
	must(t, err)
	if got.ResourcePoolPath != "/DC0/host/DC0_C0/Resources" || !got.Datastore.IsZero() || !got.Network.IsZero() {
		t.Errorf("default placement is %+v", got)
	}
	for _, pool := range []string{"DC0_C0", "DC0_C0/Resources", "Resources", "/DC0/host/DC0_C0/Resources"} {
		named, err := r.server.Placement(vsphere.Placement{ResourcePool: pool, Datastore: "LocalDS_0", Network: "VM Network"})
		must(t, err)
		if named.ResourcePool != got.ResourcePool || named.DatastorePath != "/DC0/datastore/LocalDS_0" || named.NetworkPath != "/DC0/network/VM Network" {
			t.Errorf("%s: %+v", pool, named)
		}
	}
	for _, p := range []vsphere.Placement{{ResourcePool: "x"}, {Datastore: "x"}, {Network: "x"}} {
		_, err := r.server.Placement(p)
		wantKind(t, err, vsphere.KindNotFound)
	}
}

func TestCloneWithEverything(t *testing.T) {
	r := newRig(t, govmomi.Poll).ensure()
	for i, network := range []string{"VM Network", "DC0_DVPG0"} {
		req := r.request(int32(i))
		place, err := r.server.Placement(vsphere.Placement{Datastore: "LocalDS_0", Network: network})
		must(t, err)
		req.Placement, req.Linked, req.UserData = place, true, []byte("#cloud-config\n")
		must(t, r.server.Clone(r.ctx, req))
		vm := r.settled(int32(i))
		if vm.InstanceUUID != req.UUID {
			t.Errorf("UUID is %s, want %s", vm.InstanceUUID, req.UUID)
		}
		vms, err := r.person.VMs(r.ctx)
		must(t, err)
		extra := vms[vmPath+req.Name].Extra
		if extra["guestinfo.userdata"] != "I2Nsb3VkLWNvbmZpZwo=" || extra["guestinfo.userdata.encoding"] != "base64" {
			t.Errorf("user data is %q %q", extra["guestinfo.userdata"], extra["guestinfo.userdata.encoding"])
		}
	}
}
