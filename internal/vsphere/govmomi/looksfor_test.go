package govmomi_test

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// A typing error made each replica list the whole datacenter every five seconds.
func TestANameThatVCenterHasNotCostsOneCallAndNoListing(t *testing.T) {
	r := newRig(t, govmomi.Watch).ensure()
	listings := r.proxy.Count("CreateContainerView", agent)
	for range 3 {
		_, err := r.server.Template("debain")
		wantKind(t, err, vsphere.KindNotFound)
		_, err = r.server.Placement(vsphere.Placement{Datastore: "fsat"})
		wantKind(t, err, vsphere.KindNotFound)
	}
	r.until("both names were looked for", func() bool { return r.proxy.Count("FindByInventoryPath", agent) >= 1 })
	if n := r.proxy.Count("CreateContainerView", agent) - listings; n != 0 {
		t.Errorf("%d listings because of a name", n)
	}
}

func TestANameThatVCenterRefusesToLookForEndsNoConnection(t *testing.T) {
	r := newRig(t, govmomi.Watch).ensure()
	logins := r.proxy.Count("Login", agent)
	r.proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if c.UserAgent == agent && c.Method == "FindByInventoryPath" {
			return sim.SOAPFault(&types.InvalidArgument{InvalidProperty: "inventoryPath"})
		}
		return faultproxy.Fault{}
	})
	_, err := r.server.Template("/made%up")
	wantKind(t, err, vsphere.KindNotFound)
	r.until("it was looked for", func() bool { return r.proxy.Count("FindByInventoryPath", agent) == 1 })
	r.clone(0)
	if n := r.proxy.Count("Login", agent) - logins; n != 0 || !r.server.Health().Reachable {
		t.Errorf("%d more logins: %+v", n, r.server.Health())
	}
}

func TestATemplateThatIsMadeIsFoundByTheGroupThatWaitsForIt(t *testing.T) {
	for _, folders := range [][]string{nil, {"/DC0/vm/golden"}} {
		r := newRig(t, govmomi.Watch, func(_ *sim.Options, cfg *govmomi.Config) { cfg.TemplateFolders = folders })
		must(t, r.person.CreateFolders(r.ctx, "/DC0/vm/golden"))
		r.ensure()
		in := "/DC0/vm"
		if folders != nil {
			in = folders[0]
		}
		must(t, r.person.AddTemplate(r.ctx, in, "fedora"))
		r.until("the new template is found", func() bool { _, err := r.server.Template("fedora"); return err == nil })
	}
}

func TestTheFoldersOfTemplatesBoundWhatIsRead(t *testing.T) {
	r := newRig(t, govmomi.Watch)
	r.stop()
	must(t, r.person.CreateFolders(r.ctx, "/DC0/vm/golden/linux"))
	must(t, r.person.AddTemplate(r.ctx, "/DC0/vm/golden/linux", "debian"))
	must(t, r.person.AddTemplate(r.ctx, "/DC0/vm/golden", "fedora"))
	r.cfg.TemplateFolders = []string{"/DC0/vm/golden", "/DC0/vm/golden/linux", "/DC0/vm/none"}
	r.start()
	r.connected()
	for name, there := range map[string]bool{"debian": true, "fedora": true, "vm-operator-template": false} {
		if _, err := r.server.Template(name); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Ordinary VMs outside the folders are not read either.
	_, err := r.server.Template("db-prod-0")
	wantKind(t, err, vsphere.KindNotFound)
}
