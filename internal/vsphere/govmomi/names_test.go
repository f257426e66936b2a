package govmomi_test

import (
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// portgroup creates a port group of the switch DVS0. The simulator does not escape its name; vCenter does.
func (r *rig) portgroup(name string) {
	r.t.Helper()
	network, err := newFinder(r).Network(r.ctx, "DVS0")
	must(r.t, err)
	task, err := object.NewDistributedVirtualSwitch(r.person.Client(), network.Reference()).AddPortgroup(r.ctx, []types.DVPortgroupConfigSpec{{
		Name: name, Type: string(types.DistributedVirtualPortgroupPortgroupTypeEarlyBinding), NumPorts: 1,
	}})
	must(r.t, err)
	must(r.t, task.Wait(r.ctx))
}

// The vSphere Client shows a slash for the API's %2f. A name has either form.
func TestNamesAreFoundAsPeopleSeeThem(t *testing.T) {
	r := newRig(t, govmomi.Poll, resyncOften, func(o *sim.Options, _ *govmomi.Config) { o.Templates = []string{"debian-12", "both"} }).connected()
	r.portgroup("v910 10.33.156.0%2f24")
	must(t, r.person.CreateFolders(r.ctx, "/DC0/vm/feature"))
	must(t, r.person.AddTemplate(r.ctx, "/DC0/vm/feature", "debug"))
	for name, as := range map[string]string{"ci": "debian-feature%2fdebug", "name": "feature%2fdebug", "disk": "50%25"} {
		must(t, r.person.AddTemplate(r.ctx, "/DC0/vm", name))
		must(t, r.person.Rename(r.ctx, "/DC0/vm/"+name, as))
	}
	r.until("all is read", func() bool {
		_, err := r.server.Placement(vsphere.Placement{Network: "v910 10.33.156.0%2f24"})
		_, other := r.server.Template("/DC0/vm/50%25")
		_, last := r.server.Template("/DC0/vm/feature%2fdebug")
		_, ci := r.server.Template("/DC0/vm/debian-feature%2fdebug")
		return err == nil && other == nil && last == nil && ci == nil
	})
	for _, name := range []string{"v910 10.33.156.0/24", "v910 10.33.156.0%2f24", "v910 10.33.156.0%2F24", "V910 10.33.156.0/24", "/DC0/network/v910 10.33.156.0/24", "network/v910 10.33.156.0/24"} {
		got, err := r.server.Placement(vsphere.Placement{Network: name})
		if err != nil || got.NetworkPath != "/DC0/network/v910 10.33.156.0%2f24" {
			t.Errorf("network %q: %s, %v", name, got.NetworkPath, err)
		}
	}
	got, err := r.server.Placement(vsphere.Placement{ResourcePool: "dc0_c0", Datastore: "localds_0", Network: "vm network"})
	if err != nil || got.NetworkPath != "/DC0/network/VM Network" || got.DatastorePath != "/DC0/datastore/LocalDS_0" || got.ResourcePoolPath != "/DC0/host/DC0_C0/Resources" {
		t.Errorf("names in another case: %+v, %v", got, err)
	}
	for name, path := range map[string]string{
		"debian-feature/debug": "/DC0/vm/debian-feature%2fdebug", "debian-feature%2Fdebug": "/DC0/vm/debian-feature%2fdebug", "Debian-12": "/DC0/vm/debian-12",
		"50%": "/DC0/vm/50%25", "50%25": "/DC0/vm/50%25", "/DC0/vm/feature/debug": "/DC0/vm/feature/debug", "/DC0/vm/feature%2fdebug": "/DC0/vm/feature%2fdebug",
		"vm/debian-feature/debug": "/DC0/vm/debian-feature%2fdebug", "debug": "/DC0/vm/feature/debug",
	} {
		if got, err := r.server.Template(name); err != nil || got.Path != path {
			t.Errorf("template %q: %s, %v", name, got.Path, err)
		}
	}
	namesThatAreNotFoundOrUnclear(t, r)
}

func namesThatAreNotFoundOrUnclear(t *testing.T, r *rig) {
	t.Helper()
	_, err := r.server.Template("feature/debug")
	wantKind(t, err, vsphere.KindAmbiguous)
	for _, path := range []string{"/DC0/vm/feature/debug", "/DC0/vm/feature%2fdebug"} {
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("a text that is a name and a path: %v; want a message with %s", err, path)
		}
	}
	for _, name := range []string{"24", "0/24", "v910 10.33.156.0", "network"} {
		if got, err := r.server.Placement(vsphere.Placement{Network: name}); vsphere.KindOf(err) != vsphere.KindNotFound {
			t.Errorf("network %q is %s, %v", name, got.NetworkPath, err)
		}
	}
	for _, name := range []string{"ebug", "feature", "debian-feature", "vm", "/debug", "/vm/feature/debug", "%25"} {
		if got, err := r.server.Template(name); vsphere.KindOf(err) != vsphere.KindNotFound {
			t.Errorf("template %q is %s, %v", name, got.Path, err)
		}
	}
}

func TestDatacentersAndFoldersAreFoundAsPeopleSeeThem(t *testing.T) {
	r := newRig(t, govmomi.Poll, resyncOften, func(_ *sim.Options, cfg *govmomi.Config) {
		cfg.Datacenter, cfg.TemplateFolders = "dc0", []string{"/DC0/vm/Golden/2026/01"}
	}).connected()
	must(t, r.person.CreateFolders(r.ctx, "/DC0/vm/golden"))
	golden, err := newFinder(r).Folder(r.ctx, "/DC0/vm/golden")
	must(t, err)
	inner, err := golden.CreateFolder(r.ctx, "2026/01")
	must(t, err)
	must(t, r.person.AddTemplate(r.ctx, "/DC0/vm", "linux"))
	linux, err := newFinder(r).VirtualMachine(r.ctx, "/DC0/vm/linux")
	must(t, err)
	task, err := inner.MoveInto(r.ctx, []types.ManagedObjectReference{linux.Reference()})
	must(t, err)
	must(t, task.Wait(r.ctx))
	r.until("the template is found", func() bool { _, err := r.server.Template("linux"); return err == nil })
	for _, path := range []string{"/DC0/vm/golden/2026/01", "/DC0/vm/golden/2026%2f01", "/DC0/vm/Golden/2026%2F01", "golden/2026/01", "Golden/2026%2f01/", "/dc0/VM/golden/2026/01"} {
		if got, err := r.server.ReadFolder(r.ctx, path); err != nil || len(got.VMs) != 1 {
			t.Errorf("folder %s has %d VMs, %v", path, len(got.VMs), err)
		}
	}
	for _, path := range []string{"/DC0/vm/golden/2026", "/DC0/vm/golden/01", "/DC0/vm/2026/01", "2026/01", "/DC1/vm/golden", "/vm/golden"} {
		if got, err := r.server.ReadFolder(r.ctx, path); vsphere.KindOf(err) != vsphere.KindNotFound {
			t.Errorf("folder %s is %s, %v", path, got.Folder, err)
		}
	}
}
