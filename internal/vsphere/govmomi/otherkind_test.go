package govmomi_test

import (
	"strings"
	"testing"

	finder "github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
)

func TestWhatIsNamedAsAPlaceAndIsOfAnotherKindIsSaidToBeThat(t *testing.T) {
	r := newRig(t, govmomi.Poll, resyncOften).connected()
	r.storagePod("empty")
	r.storagePod("gold", "pod-3") // last, because the test waits for it
	r.until("the datastore cluster is read", func() bool {
		_, err := r.server.Placement(vsphere.Placement{Datastore: "gold"})
		return err != nil && strings.Contains(err.Error(), "pod-3")
	})
	for _, c := range []struct {
		story string
		give  vsphere.Placement
		want  string
	}{
		{"a datastore cluster", vsphere.Placement{Datastore: "gold"}, `find datastore "gold": /DC0/datastore/gold is a datastore cluster; name one of its datastores, for example /DC0/datastore/gold/pod-3`},
		{"an empty datastore cluster", vsphere.Placement{Datastore: "empty"}, `find datastore "empty": /DC0/datastore/empty is a datastore cluster; name one of its datastores, once it has one`},
		{"by path", vsphere.Placement{Datastore: "/DC0/datastore/gold"}, "is a datastore cluster"},
		{"a distributed switch", vsphere.Placement{Network: "DVS0"}, `find network "DVS0": /DC0/network/DVS0 is a distributed switch; name one of its port groups, for example /DC0/network/DC0_DVPG0`},
		{"an uplink port group", vsphere.Placement{Network: r.uplinks()}, "is an uplink port group, which connects a switch with its hosts; name another port group of its switch, for example /DC0/network/DC0_DVPG0"},
		{"a network as datastore", vsphere.Placement{Datastore: "DC0_DVPG0"}, `/DC0/network/DC0_DVPG0 is a network and no datastore; name a datastore`},
		{"a datastore as network", vsphere.Placement{Network: "LocalDS_0"}, "is a datastore and no network; name a network"},
		{"a datastore as resource pool", vsphere.Placement{ResourcePool: "LocalDS_0"}, "is a datastore and no resource pool; name a resource pool"},
		{"a folder as network", vsphere.Placement{Network: "network"}, "is a folder and no network"},
	} {
		_, err := r.server.Placement(c.give)
		wantKind(t, err, vsphere.KindNotFound)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.story, err, c.want)
		}
	}
	for _, p := range []vsphere.Placement{{Datastore: "gold/pod-3"}, {Datastore: "pod-3"}, {Network: "DC0_DVPG0"}} {
		if _, err := r.server.Placement(p); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// storagePod creates a datastore cluster with datastores.
func (r *rig) storagePod(name string, datastores ...string) {
	r.t.Helper()
	c := r.person.Client()
	f := newFinder(r)
	folder, err := f.Folder(r.ctx, "/DC0/datastore")
	must(r.t, err)
	pod, err := folder.CreateStoragePod(r.ctx, name)
	must(r.t, err)
	for _, datastore := range datastores {
		host, err := f.HostSystem(r.ctx, "/DC0/host/DC0_C0/DC0_C0_H0")
		must(r.t, err)
		system, err := host.ConfigManager().DatastoreSystem(r.ctx)
		must(r.t, err)
		made, err := system.CreateLocalDatastore(r.ctx, datastore, r.t.TempDir())
		must(r.t, err)
		task, err := object.NewFolder(c, pod.Reference()).MoveInto(r.ctx, []types.ManagedObjectReference{made.Reference()})
		must(r.t, err)
		must(r.t, task.Wait(r.ctx))
	}
}

// uplinks is the name of the uplink port group of the switch DVS0.
func (r *rig) uplinks() string {
	r.t.Helper()
	networks, err := newFinder(r).NetworkList(r.ctx, "/DC0/network/*")
	must(r.t, err)
	for _, n := range networks {
		if path := n.GetInventoryPath(); strings.Contains(path, "DVUplinks") {
			return path[strings.LastIndex(path, "/")+1:]
		}
	}
	r.t.Fatal("the switch has no uplink port group")
	return ""
}

func newFinder(r *rig) *finder.Finder { return finder.NewFinder(r.person.Client()) }
